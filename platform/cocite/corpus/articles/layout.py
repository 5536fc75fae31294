"""Puts the lines of a PDF together to paragraphs, with words mended that the end of a line divides.

A PDF says where letters stand, and not what is a paragraph, so that these are found by the lengths of lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from cocite.corpus.articles.headings import HEADING_CHARS, is_abstract_heading, is_references_heading

_LONG = 4_000
"""Characters after which a paragraph ends at the next end of a sentence."""
_SHORT = 0.8
"""Share of a usual line's length below which a line that ends a sentence ends its paragraph."""
_HEADING = re.compile(r"(?:\d+(?:\.\d+)*\.?|[A-Z]\.?)\s+[A-Z][^.]{0,70}")
ENDS = (".", "?", "!", ":", ".)", ".”", '."')
"""What a line that ends a paragraph ends with."""


@dataclass(slots=True)
class PDFPages:
    """The text of a PDF.

    Attributes:
        lines: of each page, with one space between words; empty ones are left out.
        title: what stands in the largest letters of the first page, where these are larger than most; "": nothing does.
        named: the title in the file's metadata; "" without one.
        created: the year in the file's metadata; 0 without one.

    Example:
        >>> PDFPages([["Neural parsing", "We parse."]]).lines[0][1]
        'We parse.'
    """

    lines: list[list[str]] = field(default_factory=list)
    title: str = ""
    named: str = ""
    created: int = 0


class Line(NamedTuple):
    """A line, and the number of its page, from 1.

    Example:
        >>> Line(1, "We parse.").text
        'We parse.'
    """

    page: int
    text: str


class Part(NamedTuple):
    """A paragraph or heading; the paragraphs between the heading of the abstract and the next are an abstract.

    Example:
        >>> Part("heading", "1 Introduction", 1).kind
        'heading'
    """

    kind: Literal["paragraph", "heading", "abstract"]
    text: str
    page: int


def without_margins(pages: Sequence[Sequence[str]]) -> Iterator[Line]:
    """The lines of pages, without numbers of pages and without what three pages begin or end with.

    Example:
        >>> pages = [["Preprint", "We parse.", "1"], ["Preprint", "It helps.", "2"], ["Preprint", "So it is.", "3"]]
        >>> [line.text for line in without_margins(pages)]
        ['We parse.', 'It helps.', 'So it is.']
    """
    edges = Counter(re.sub(r"\d+", "", line) for page in pages for line in {*page[:1], *page[-1:]})
    for number, page in enumerate(pages, 1):
        for at, line in enumerate(page):
            bare = re.sub(r"\d+", "", line)
            if at in (0, len(page) - 1) and (not bare.strip(" -–|/") or edges[bare] >= 3):
                continue
            yield Line(number, line)


def usual_length(lines: Sequence[Line]) -> int:
    """Characters of a line that runs over the width of the text; 0 without lines."""
    lengths = sorted(len(line.text) for line in lines)
    return lengths[int(0.8 * len(lengths))] if lengths else 0


def ends_paragraph(line: str, usual: int) -> bool:
    """Whether a line ends a sentence before the end of the line's usual length."""
    return line.endswith(ENDS) and len(line) < _SHORT * usual


def is_plain_heading(line: str) -> bool:
    """Whether a line is short and does not end as a sentence does."""
    return len(line) <= HEADING_CHARS and line.rstrip()[-1:] not in {*".,;:!"}


def is_own_heading(line: str) -> bool:
    """Whether a line is the heading of the abstract or of the references, wherever it stands."""
    return is_abstract_heading(line) or is_references_heading(line)


def parts_of(
    lines: Sequence[Line],
    title: str = "",
    *,
    is_heading: Callable[[str], bool] = is_plain_heading,
    is_own: Callable[[str], bool] = is_own_heading,
) -> Iterator[Part]:
    """The paragraphs and headings that lines make.

    Args:
        lines: in the order of the text.
        title: that they may begin with; it is left out.
        is_heading: whether a numbered line between paragraphs may be a heading.
        is_own: whether a line is a heading wherever it stands.

    Example:
        >>> lines = [Line(1, line) for line in ("1 Data", "We parse the gram-", "mars of languages, and more.")]
        >>> [(part.kind, part.text) for part in parts_of(lines)]
        [('heading', '1 Data'), ('paragraph', 'We parse the grammars of languages, and more.')]
    """
    below_abstract = False
    at = 0
    while at < len(lines) and lines[at].text in title:
        at += 1
    usual = usual_length(lines)
    paragraph, page = "", 1
    for index in range(at, len(lines)):
        number, line = lines[index]
        following = lines[index + 1].text if index + 1 < len(lines) else ""
        kind: Literal["paragraph", "abstract"] = "abstract" if below_abstract else "paragraph"
        if is_own(line) or (_is_between(paragraph, line, following) and is_heading(line)):
            if paragraph:
                yield Part(kind, paragraph, page)
            paragraph, below_abstract = "", is_abstract_heading(line)
            if not below_abstract:
                yield Part("heading", line, number)
            continue
        if not paragraph:
            page = number
        paragraph = joined(paragraph, line)
        is_last = ends_paragraph(line, usual) or (line.endswith(ENDS) and len(paragraph) > _LONG)
        if is_last or len(paragraph) > 4 * _LONG:
            yield Part(kind, paragraph, page)
            paragraph = ""
    if paragraph:
        yield Part("abstract" if below_abstract else "paragraph", paragraph, page)


def _is_between(before: str, line: str, following: str) -> bool:
    """Whether a line is numbered as a heading, and stands between paragraphs."""
    between = not before or before.endswith(ENDS)
    return between and bool(_HEADING.fullmatch(line)) and not following[:1].islower()


def joined(before: str, line: str) -> str:
    """A paragraph and its next line; a word that the end of the line divided is one again.

    A word that has a hyphen already, such as *state-of-the-*, keeps that at the end of the line.

    Example:
        >>> joined("the gram-", "mar"), joined("state-of-the-", "art")
        ('the grammar', 'state-of-the-art')
    """
    if before.endswith("\u00ad"):
        return before[:-1] + line
    if re.search(r"[^\W\d_]-$", before) and line[:1].islower():
        word = before.rpartition(" ")[2]
        return (before if "-" in word[:-1] else before[:-1]) + line
    return f"{before} {line}" if before else line
