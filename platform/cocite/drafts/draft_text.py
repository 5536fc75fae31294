"""A draft as one text that an author may go on with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from cocite.drafts.draft import Draft, Gap


def draft_text(draft: Draft) -> str:
    """The text of a draft, whose gaps are marked in it.

    Of a draft with sources it is these, the main file first; the name of each other file stands in a comment of LaTeX
    before it. A .docx or .pdf has none: of these it is the title, the headings and the paragraphs, with gaps as
    ``[CIT]`` and footnotes behind their paragraphs.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> draft_text(read_text("We parse \\\\emph{trees} \\\\cite{?}.", "latex"))
        'We parse \\\\emph{trees} \\\\cite{?}.'
    """
    if not draft.sources:
        return "\n\n".join(_paragraphs(draft))
    return "\n\n".join(head + text for _, head, text in _files(draft))


def place_in_text(draft: Draft, text: str, gap: Gap) -> tuple[int, int] | None:
    """Where :func:`draft_text` has the sentence of a suggestion.

    Args:
        draft: which the suggestion is of.
        text: of the draft.
        gap: of the suggestion.

    Returns:
        Its first character and the one behind its last; None where that is not known.

    Example:
        >>> from cocite.drafts.draft import Place
        >>> draft = Draft("latex", "a.tex", sources={"a.tex": "We parse.", "b.tex": "It helps."})
        >>> text = draft_text(draft)
        >>> start, end = place_in_text(draft, text, Gap(Place("b.tex", 1, 0, 9), "after", (), -1, "It helps.", ""))
        >>> text[start:end]
        'It helps.'
    """
    if not draft.sources:  # its sentences stand in the text as they are
        start = text.find(gap.sentence)
        return (start, start + len(gap.sentence)) if start >= 0 else None
    if gap.place.start == gap.place.end:
        return None
    at = 0
    for name, head, source in _files(draft):
        at += len(head)
        if name == gap.place.file:
            return at + gap.place.start, at + gap.place.end
        at += len(source) + 2
    return None


def _files(draft: Draft) -> Iterator[tuple[str, str, str]]:
    """Name, what stands before the text, and text of each file that has any, the main one first."""
    if main := draft.sources.get(draft.file):
        yield draft.file, "", main
    for name, text in draft.sources.items():
        if name != draft.file:
            yield name, f"%% {name}\n", text


def _paragraphs(draft: Draft) -> Iterator[str]:
    if draft.title:
        yield draft.title
    headings = iter(draft.sections)
    section = -1
    for (within, _, _), sentences in groupby(
        draft.sentences, key=lambda one: (one.section, one.line, one.is_abstract)
    ):
        while section < within:
            yield next(headings).title
            section += 1
        yield " ".join(sentence.text for sentence in sentences)
    yield from (heading.title for heading in headings)
