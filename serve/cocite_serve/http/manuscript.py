"""The manuscript of a request: its title and abstract, and the context around one gap, marked ``[CIT]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cocite.corpus.records import OTHER_MARK
from cocite.errors import InputError
from cocite.text.gap_context import WINDOW, context_of_gap, whole_words
from cocite.text.gaps import has_letters
from cocite_serve.http.pasted_text import GAP_MARK, HEADING_MARK, mark_gaps, read_pasted
from cocite_serve.http.query_fields import QueryText

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

    @property
    def read_as(self) -> Literal["context", "title and abstract", "seeds"]:
        """How a request was understood; without a text, as one by the papers that it likes."""
        if self.context:
            return "context"
        return "title and abstract" if self.title or self.abstract else "seeds"


NO_TEXT = Manuscript("", "")
"""Of a request that asks with seeds alone."""


def manuscript_of(request: QueryText) -> Manuscript:
    """The parts of a request's text.

    Raises:
        InputError: as of :func:`parse_manuscript`.

    Example:
        >>> manuscript_of(QueryText(context="as in [CIT]")).context
        'as in TARGETCIT'
    """
    return parse_manuscript(
        title=request.title,
        abstract=request.abstract,
        context=request.context,
        text=request.text,
        gap=request.gap,
    )


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
    if text:
        pasted = read_pasted(text)
        title = title or pasted.title
        body = pasted.body.replace(HEADING_MARK, "")
        if GAP_MARK not in body:
            if gap:
                raise InputError(f"there is no gap number {gap}: the text holds no [CIT]", where="gap")
            return Manuscript(title, abstract or pasted.abstract or body)
        context_around, gaps = _context_around(pasted.body, gap)
        body = body.replace(GAP_MARK, " ")
        if not title and len(body) <= 2 * WINDOW:
            body = ""  # a passage of a few sentences: all of it is the context already
        own = abstract or pasted.abstract or whole_words(body, ABSTRACT_CHARS)
        return Manuscript(title, own, context_around, gap, gaps)
    if context:
        context_around, gaps = _context_around(mark_gaps(context), gap)
        return Manuscript(title, abstract, context_around, gap if gaps else None, gaps)
    if not (title or abstract):
        raise InputError("give a title and abstract, or a text with the gap marked [CIT]")
    return Manuscript(title, abstract)


def _context_around(text: str, gap: int) -> tuple[str, int]:
    """The text around one of the gaps, each of which reads ``GAP_MARK``, and how many there are.

    As in a draft that is read as a file, a heading ends it, unless nothing but the gap is left then.
    """
    pieces = text.split(GAP_MARK)
    gaps = len(pieces) - 1
    if not gaps:
        if gap:
            raise InputError(f"there is no gap number {gap}: the context holds no [CIT]", where="gap")
        return " ".join(text.split()), 0
    if gap >= gaps:
        raise InputError(
            f"there is no gap number {gap}: the text holds {gaps} [CIT], counted from 0", where="gap"
        )
    before, after = OTHER_MARK.join(pieces[: gap + 1]), OTHER_MARK.join(pieces[gap + 1 :])
    below, above = before.rpartition(HEADING_MARK)[2], after.partition(HEADING_MARK)[0]
    if has_letters(below + above):
        before, after = below, above
    return context_of_gap(before.replace(HEADING_MARK, ""), after.replace(HEADING_MARK, "")), gaps
