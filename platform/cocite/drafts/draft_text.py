"""A draft as one text that an author may go on with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from cocite.drafts.draft import Draft


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
    main = draft.sources.get(draft.file, "")
    others = (f"%% {name}\n{text}" for name, text in draft.sources.items() if name != draft.file)
    return "\n\n".join(text for text in (main, *others) if text)


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
