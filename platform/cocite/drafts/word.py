"""Reads .docx files of Word and others: paragraphs, tables, equations, notes, and the fields that cite papers."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from cocite.corpus.articles.headings import is_abstract_heading
from cocite.drafts.blocks import BlockBuilder, Mark, assemble
from cocite.drafts.draft import Draft, Place
from cocite.drafts.gaps import kept_keys, text_gaps
from cocite.drafts.limits import Budget
from cocite.drafts.plain_text import title_and_start
from cocite.drafts.word_fields import cited_by_fields
from cocite.drafts.word_text import WordParagraph, open_word


def read_docx(data: bytes, name: str, *, budget: Budget) -> Draft:
    """Read a draft in .docx.

    The paragraph of the style *Title* is the title, those of the styles *Heading 1* and so on are headings.
    Places count paragraphs, from 1; their characters are those of the file's text, as :class:`WordParagraph` has it.
    What citations of Zotero, Mendeley, EndNote or Word cite are the draft's citations, with entries for them.

    Raises:
        InputError: the file is no .docx, has no text, or unpacks to more than the limits allow.
    """
    word = open_word(data, name)
    builder = BlockBuilder(name)
    title, below_abstract, left_out = "", False, 0
    for note, paragraphs in groupby(word.paragraphs, key=lambda one: (one.number, one.note)):
        if note == (left_out, note[1]):
            continue  # of the title or of the heading "Abstract": thanks and addresses
        if note[1]:
            for number, one in enumerate(paragraphs):
                if number:
                    builder.text(" ")
                _add(builder, one, name, budget)
            builder.end("footnote")
            continue
        [one] = paragraphs
        builder.line = one.number
        text = " ".join(one.text.split())
        if one.style == "title" or (
            one.number == 1 and not title and not one.style and title_and_start(text)[0]
        ):
            title, left_out = title or text, one.number
            continue
        if is_abstract_heading(text):
            below_abstract, left_out = True, one.number
            continue
        if not text:
            continue
        _add(builder, one, name, budget)
        if one.heading_level:
            below_abstract = False
            builder.end("heading", one.heading_level)
        else:
            builder.end("abstract" if below_abstract or one.style == "abstract" else "paragraph")
    draft = assemble(builder.blocks, kind="docx", file=name, title=title, budget=budget)
    citations, entries, warnings = cited_by_fields(word, name, budget)
    return replace(draft, citations=citations, entries=entries, warnings=warnings)


def _add(builder: BlockBuilder, paragraph: WordParagraph, name: str, budget: Budget) -> None:
    """Add a paragraph's text, with one space in place of each run of them."""
    budget.step()
    budget.read(len(paragraph.text))
    text = paragraph.text.strip()
    at, start = 0, paragraph.start + len(paragraph.text) - len(paragraph.text.lstrip())
    for match in text_gaps(text):
        builder.text(_single(text[at : match.start()]))
        place = Place(name, paragraph.number, start + match.start(), start + match.end())
        builder.mark(Mark(place, kept_keys(match[0]), is_gap=True))
        at = match.end()
    builder.text(_single(text[at:]))


def _single(text: str) -> str:
    """With single spaces, at both ends too where there are any."""
    inner = " ".join(text.split())
    if not inner:
        return text[:1] and " "
    return f"{' ' if text[0].isspace() else ''}{inner}{' ' if text[-1].isspace() else ''}"
