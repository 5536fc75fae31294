"""The marks that stand for citations in a context, and how to take them out."""

from __future__ import annotations

import re

from cocite.corpus.records import OTHER_MARK, TARGET_MARK

_MARKS = re.compile(rf"{TARGET_MARK}|{OTHER_MARK}|\[(?:OTHER)?CIT\]")
_SPACES = re.compile(r"\s+")


def strip_marks(text: str) -> str:
    """A context without its citation marks: words alone, so that no mark is ever matched or counted as one.

    Takes out ``TARGETCIT``, ``OTHERCIT``, ``[CIT]`` and ``[OTHERCIT]``, and leaves single spaces.
    """
    return _SPACES.sub(" ", _MARKS.sub(" ", text)).strip()


_GAP = re.compile(rf"{TARGET_MARK}|\[CIT\]")


def around_gap(text: str, *, before: int = 12, after: int = 6) -> str:
    """The words next to the gap: what the sentence says of the missing paper itself.

    Args:
        text: a context with its marks.
        before: words taken before the gap.
        after: words taken behind it.

    Returns:
        The words without marks; empty when the text has no gap.
    """
    gap = _GAP.search(text)
    if gap is None:
        return ""
    left, right = strip_marks(text[: gap.start()]).split(), strip_marks(text[gap.end() :]).split()
    return " ".join(left[-before:] + right[:after])


def split_at_gap(text: str) -> tuple[str, str]:
    """The text before the (first) gap and behind it, without marks; without a gap all of it is behind."""
    gap = _GAP.search(text)
    if gap is None:
        return "", strip_marks(text)
    return strip_marks(text[: gap.start()]), strip_marks(text[gap.end() :])
