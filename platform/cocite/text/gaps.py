"""The marks of citations in a context: finding the gap, and removing the marks."""

from __future__ import annotations

import re

from cocite.corpus.records import OTHER_MARK, TARGET_MARK

_MARKS = re.compile(rf"{TARGET_MARK}|{OTHER_MARK}|\[(?:OTHER)?CIT\]")
_SPACES = re.compile(r"\s+")


def strip_marks(text: str) -> str:
    """A context without its citation marks, so that no mark is matched or counted as a word.

    Removes ``TARGETCIT``, ``OTHERCIT``, ``[CIT]`` and ``[OTHERCIT]``, and leaves single spaces.

    Example:
        >>> strip_marks("As in [CIT] and OTHERCIT, we parse.")
        'As in and , we parse.'
    """
    return _SPACES.sub(" ", blank_marks(text)).strip()


def blank_marks(text: str) -> str:
    """A context with a space in place of each citation mark: for whoever splits it into words anyway.

    Example:
        >>> blank_marks("As in [CIT], we parse.")
        'As in  , we parse.'
    """
    return _MARKS.sub(" ", text) if "CIT" in text else text  # the search for a fixed string is far quicker


def has_letters(text: str) -> bool:
    """Whether a text has anything to search with beside its citation marks.

    Example:
        >>> has_letters("As in [CIT]."), has_letters("[CIT] (2).")
        (True, False)
    """
    return any(map(str.isalpha, blank_marks(text)))


_GAP = re.compile(rf"{TARGET_MARK}|\[CIT\]")


def has_gap(text: str) -> bool:
    """Whether a text holds ``TARGETCIT`` or ``[CIT]``.

    Example:
        >>> has_gap("as shown by [CIT]"), has_gap("as shown by [OTHERCIT]")
        (True, False)
    """
    return _GAP.search(text) is not None


def around_gap(text: str, *, before: int = 12, after: int = 6) -> str:
    """The words next to the gap, which describe the missing paper itself.

    Args:
        text: a context with its marks.
        before: words taken before the gap.
        after: words taken behind it.

    Returns:
        The words without marks; empty when the text has no gap.

    Example:
        >>> around_gap("We parse with the model of [CIT] as others do.", before=3, after=1)
        'the model of as'
    """
    gap = _GAP.search(text)
    if gap is None:
        return ""
    left, right = blank_marks(text[: gap.start()]).split(), blank_marks(text[gap.end() :]).split()
    return " ".join(left[-before:] + right[:after])


def split_at_gap(text: str) -> tuple[str, str]:
    """The text before and behind the first gap, without marks; a text without a gap is behind it.

    Example:
        >>> split_at_gap("The model of [CIT] parses.")
        ('The model of', 'parses.')
    """
    gap = _GAP.search(text)
    if gap is None:
        return "", strip_marks(text)
    return strip_marks(text[: gap.start()]), strip_marks(text[gap.end() :])
