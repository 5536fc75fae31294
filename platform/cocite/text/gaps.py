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
