"""Parses a pasted text: the title and abstract, and the context around one gap, marked ``[CIT]``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cocite.corpus.records import OTHER_MARK, TARGET_MARK
from cocite.errors import InputError
from cocite.text.gap_context import WINDOW, context_of_gap, whole_words

GAP = re.compile(rf"\[\s*CIT\s*\]|\b{TARGET_MARK}\b", re.IGNORECASE)
"""A missing citation: ``[CIT]`` in any spelling, or the corpus' own marker."""
TITLE_CHARS = 250
"""A first line longer than this is no title."""
ABSTRACT_CHARS = 2_000
"""Characters of a draft that stand in for its abstract."""


@dataclass(frozen=True)
class Manuscript:
    """A request's text by its parts.

    Attributes:
        title: "" when there is none.
        abstract: "" when there is none.
        context: the text around the gap, the gap as ``TARGETCIT`` and others as ``OTHERCIT``; "" when the request
            is about the whole manuscript.
        gap: which gap of the text, from 0; None when the text has none.
        gaps: how many gaps the text has.

    Example:
        >>> draft = "Neural translation\\nAttention replaced recurrence [CIT]. Quality is measured by BLEU [CIT]."
        >>> manuscript = parse_manuscript(text=draft, gap=1)
        >>> manuscript.title, manuscript.gaps
        ('Neural translation', 2)
        >>> manuscript.context
        'Quality is measured by BLEU TARGETCIT.'
    """

    title: str
    abstract: str
    context: str = ""
    gap: int | None = None
    gaps: int = 0


def parse_manuscript(
    *, title: str = "", abstract: str = "", context: str = "", text: str = "", gap: int = 0
) -> Manuscript:
    """Find the parts of a request's text.

    Args:
        title: of the manuscript; without it, the first line of ``text`` when that is short.
        abstract: of the manuscript; without it, the beginning of what follows in ``text``.
        context: text around the missing citation.
        text: anything pasted: a draft with gaps, or a title and an abstract. Not together with ``context``.
        gap: which gap, from 0.

    Raises:
        InputError: there is nothing to search with, or no gap of that number. ``where`` is the field's name.
    """
    if context and text:
        raise InputError("give either context or text, not both", where="text")
    if text and not GAP.search(text):
        if gap:
            raise InputError(f"there is no gap number {gap}: the text holds no [CIT]", where="gap")
        first, rest = _split_title(text)
        return Manuscript(title or first, abstract or rest)
    if text:
        first, rest = _split_title(text)
        if GAP.search(first):
            first, rest = "", text
        context_around, gaps = _context_around(rest, gap)
        body = GAP.sub(" ", rest)
        if not (title or first) and len(body) <= 2 * WINDOW:
            body = ""  # a passage of a few sentences: all of it is the context already
        return Manuscript(
            title or first, abstract or whole_words(body, ABSTRACT_CHARS), context_around, gap, gaps
        )
    if context:
        context_around, gaps = _context_around(context, gap)
        return Manuscript(title, abstract, context_around, gap if gaps else None, gaps)
    if not (title or abstract):
        raise InputError("give a title and abstract, or a text with the gap marked [CIT]")
    return Manuscript(title, abstract)


def _split_title(text: str) -> tuple[str, str]:
    """The first line, when it looks like a title, and what follows."""
    first, _, rest = text.strip().partition("\n")
    first, rest = first.strip(), rest.strip()
    if len(first) <= TITLE_CHARS and (rest or not first.endswith((".", "?", "!"))):
        return first, rest
    return "", text.strip()


def _context_around(text: str, gap: int) -> tuple[str, int]:
    """The text around one gap, with gaps as the corpus marks them, and the number of gaps."""
    marks = list(GAP.finditer(text))
    if not marks:
        if gap:
            raise InputError(f"there is no gap number {gap}: the context holds no [CIT]", where="gap")
        return " ".join(text.split()), 0
    if gap >= len(marks):
        raise InputError(
            f"there is no gap number {gap}: the text holds {len(marks)} [CIT], counted from 0", where="gap"
        )
    target = marks[gap]
    before, after = GAP.sub(OTHER_MARK, text[: target.start()]), GAP.sub(OTHER_MARK, text[target.end() :])
    return context_of_gap(before, after), len(marks)
