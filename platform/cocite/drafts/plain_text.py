"""Reads plain text: paragraphs between empty lines, with gaps such as ``[CIT]``."""

from __future__ import annotations

import re

from cocite.corpus.articles.headings import HEADING_CHARS, TITLE_CHARS, is_abstract_heading
from cocite.drafts.blocks import BlockBuilder, Mark, assemble
from cocite.drafts.draft import Draft, Place
from cocite.drafts.gaps import kept_keys, text_gaps
from cocite.drafts.limits import Budget

_PARAGRAPH = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")


def read_plain_text(text: str, name: str, *, budget: Budget) -> Draft:
    """Read a draft in plain text.

    The first line is the title if it looks like one; a short line that stands alone and does not end as a sentence
    does is a heading, and what follows the heading *Abstract* is the abstract.

    Raises:
        InputError: the draft has no text, or takes more than the limits allow.
    """
    builder = BlockBuilder(name)
    title, body = title_and_start(text)
    below_abstract = False
    line, at = 1, 0
    for match in _PARAGRAPH.finditer(text, body):
        line += text.count("\n", at, match.start())
        at = match.start()
        builder.line = line
        first_line = match[0].partition("\n")[0]
        cut = len(first_line) if is_abstract_heading(first_line) else 0
        if cut == len(match[0]):
            below_abstract = True
            continue
        below_abstract = below_abstract or cut > 0
        _add(builder, match[0][cut:], name, line, match.start() + cut)
        if not cut and is_heading(match[0]):
            builder.end("heading", 1)
        else:
            builder.end("abstract" if below_abstract else "paragraph")
        below_abstract = False
    return assemble(builder.blocks, kind="text", file=name, title=title, budget=budget, sources={name: text})


def title_and_start(text: str) -> tuple[str, int]:
    """The title that a text begins with, "" for none, and where the rest begins.

    Example:
        >>> title_and_start("Neural parsing\\n\\nWe parse.")
        ('Neural parsing', 14)
        >>> title_and_start("We parse text that\\nnobody parsed.")
        ('', 0)
    """
    first = re.search(r"[^\n]*\S[^\n]*", text)
    if first is None or not _is_title(first[0]):
        return "", 0
    following = text[first.end() : first.end() + 200].removeprefix("\n")
    stands_alone = not following.partition("\n")[0].strip()
    if stands_alone or (len(first[0]) <= 150 and following.lstrip()[:1].isupper()):
        return " ".join(first[0].split()), first.end()
    return "", 0


def _is_title(line: str) -> bool:
    ends = line.rstrip()[-1:] in {*".,;:!"}
    return len(line) <= TITLE_CHARS and not ends and next(text_gaps(line), None) is None


def is_heading(paragraph: str) -> bool:
    """Whether a paragraph is a short line that does not end as a sentence does."""
    return "\n" not in paragraph and len(paragraph) <= HEADING_CHARS and _is_title(paragraph)


def _add(builder: BlockBuilder, text: str, name: str, line: int, start: int) -> None:
    at = 0
    for match in text_gaps(text):
        builder.copy(text[at : match.start()], Place(name, line, start + at, start + match.start()))
        own = line + text.count("\n", 0, match.start())
        place = Place(name, own, start + match.start(), start + match.end())
        builder.mark(Mark(place, kept_keys(match[0]), is_gap=True))
        at = match.end()
    builder.copy(text[at:], Place(name, line, start + at, start + len(text)))
