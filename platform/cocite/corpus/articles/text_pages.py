"""Reads the lines of a text that another program took out of a PDF; form feeds divide it into pages."""

from __future__ import annotations

from cocite.corpus.articles.layout import PDFPages
from cocite.corpus.articles.limits import MAX_PAGES, ReadingBudget
from cocite.corpus.articles.pages import clean
from cocite.errors import InputError


def read_text_pages(data: bytes, name: str, *, budget: ReadingBudget) -> PDFPages:
    """Read the lines of a text, as ``pdftotext`` writes it: UTF-8, each page ended by a form feed.

    Raises:
        InputError: it is no text in UTF-8, has no text, or takes more than the limits allow.

    Example:
        >>> read_text_pages(b"On  trees\\n\\nWe draw.\\fMore.\\f", "", budget=ReadingBudget("")).lines
        [['On trees', 'We draw.'], ['More.']]
    """
    budget.read(len(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is no text in UTF-8", where=name, hint="convert it, as with iconv") from error
    if "\0" in text:
        raise InputError("is no text: it holds null characters", where=name, hint="name files of text")
    pages = text.removesuffix("\f").split("\f")
    if len(pages) > MAX_PAGES:
        raise InputError(f"has {len(pages):,} pages, more than {MAX_PAGES}", where=name, hint="divide it")
    found = PDFPages()
    for page in pages:
        budget.check_time()
        found.lines.append([line for part in clean(page).splitlines() if (line := " ".join(part.split()))])
    if not any(found.lines):
        raise InputError("has no text", where=name, hint="leave it out")
    return found
