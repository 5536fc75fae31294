"""Reads the text of .pdf files: the paragraphs and headings of their pages, with gaps."""

from __future__ import annotations

from cocite.corpus.articles.layout import parts_of, without_margins
from cocite.corpus.articles.pages import read_pages
from cocite.drafts.blocks import BlockBuilder, Mark, assemble
from cocite.drafts.draft import Draft, Place
from cocite.drafts.gaps import kept_keys, text_gaps
from cocite.drafts.limits import Budget
from cocite.drafts.plain_text import is_heading, title_and_start


def read_pdf(data: bytes, name: str, *, budget: Budget) -> Draft:
    """Read a draft in .pdf.

    What is set in the largest letters of the first page is the title. Lines that several pages begin or end with, and
    numbers of pages, are left out. Places count pages, from 1.

    Raises:
        InputError: the file is no .pdf, is encrypted, has no text, or takes more than the limits allow.
    """
    pages = read_pages(data, name, budget=budget)
    lines = list(without_margins(pages.lines))
    title = pages.title or title_and_start("\n".join(line.text for line in lines[:3]))[0]
    builder = BlockBuilder(name)
    for part in parts_of(lines, title, is_heading=is_heading):
        _add(builder, part.text, name, part.page)
        builder.end(part.kind, int(part.kind == "heading"))
    return assemble(builder.blocks, kind="pdf", file=name, title=title, budget=budget)


def _add(builder: BlockBuilder, text: str, name: str, page: int) -> None:
    builder.line = page
    at = 0
    for match in text_gaps(text):
        builder.text(text[at : match.start()])
        place = Place(name, page, match.start(), match.end())
        builder.mark(Mark(place, kept_keys(match[0]), is_gap=True))
        at = match.end()
    builder.text(text[at:])
