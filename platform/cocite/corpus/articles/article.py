"""Takes the lines of a PDF apart: title, abstract, year, body with marked citations, and the list of references."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cocite.corpus.articles.headings import (
    TITLE_CHARS,
    begins_behind_references,
    is_introduction_heading,
    is_references_heading,
    is_section_heading,
)
from cocite.corpus.articles.layout import (
    Line,
    PDFPages,
    ends_paragraph,
    is_own_heading,
    is_plain_heading,
    joined,
    parts_of,
    usual_length,
    without_margins,
)
from cocite.corpus.articles.limits import HINT, MAX_LINES, ReadingBudget
from cocite.corpus.articles.marks import citation_marks
from cocite.corpus.articles.printed_titles import printed_dois
from cocite.corpus.articles.references import split_references
from cocite.corpus.arxiv import arxiv_number
from cocite.corpus.records import OTHER_MARK, TARGET_MARK
from cocite.errors import InputError

_HEAD = 150
"""Lines in which the abstract begins."""
_ABSTRACT_LINES = 100
_ABSTRACT = re.compile(r"(?:\d+\.?\s*)?(?i:abstract)\s*(?:[.:—–-]+\s*|$|(?=\s[A-Z]))(?P<rest>.*)")
_KEYWORDS = re.compile(
    r"K(?:ey|EY)\s?-?[wW](?:ords|ORDS)\b|I(?:ndex|NDEX) T(?:erms|ERMS)\b|CCS C|Categories and [sS]ubject|General Terms"
    r"|ACM Reference [fF]ormat"
)
_NUMBERED = re.compile(r"(?:1\.?|I\.)\s+[A-Z]")
_YEAR = re.compile(r"(?<![\d.:/-])(?:19|20)\d\d(?![\d/]|\.\d)")
_STAMP = re.compile(r"arXiv:\S+\s*\[[\w.-]+\]\s+\d{1,2} [A-Z][a-z]{2} (?:19|20)\d\d")
_OPEN = re.compile(r"(?:[:,-]|\b(?:of|for|and|the|in|with|to|a|an|on|from|by|using|via))$", re.IGNORECASE)
"""The end of a line of a title that goes on."""
_NO_TITLE = re.compile(
    r"arxiv:|proceedings|preprint|published|accepted|under review|copyright|©|vol\.|https?:|doi",
    re.IGNORECASE,
)
_IMPRINT = re.compile(r"proceedings of|findings of|copyright|©|\(c\)|c⃝|published|arxiv:", re.IGNORECASE)
"""The beginning of a line that says where an article came out, wherever on the first page it stands."""
_NO_TEXT = re.compile(rf"{TARGET_MARK}|{OTHER_MARK}|\[\[(?=CIT:)|[\x00-\x1f\x7f-\x9f\ufffd]")
"""The corpus' own words for citations, which would be taken for marks, and what broken fonts give."""

Pieces = list[tuple[str, tuple[int, ...]]]
"""A paragraph in pieces: a text, and the entries that it cites by their places in the list; none: it is no mark."""


@dataclass(slots=True)
class Article:
    """What a PDF says, as far as it could be told.

    Attributes:
        title, abstract: "" where none was found.
        year: 0 where none was found.
        doi: of the article itself; "" where the first page does not name one.
        arxiv: number of the preprint; "" without one.
        references: the texts of the printed list's entries, without their numbers.
        paragraphs: section and pieces of each paragraph of the body, in order.

    Example:
        >>> Article("Trees", year=1999).references
        ()
    """

    title: str
    abstract: str = ""
    year: int = 0
    doi: str = ""
    arxiv: str = ""
    references: tuple[str, ...] = ()
    paragraphs: tuple[tuple[str, Pieces], ...] = ()


def article_of(pages: PDFPages, *, last_year: int, check: Callable[[], None] = lambda: None) -> Article:
    """The article that the pages of a PDF hold.

    The abstract is what stands between the line *Abstract* and keywords, the introduction or a numbered heading; the
    list of references begins at the last heading that says so, and ends at an appendix.

    Args:
        pages: of the PDF.
        last_year: the latest year of publication that may be true.
        check: called between the steps, to end what takes too long.

    Raises:
        InputError: there are too many lines.

    Example:
        >>> lines = ["On trees", "Ann Lee, 2019", "Abstract", "We draw.", "1 Introduction", "As in [1].", "References"]
        >>> article = article_of(PDFPages([[*lines, "[1] B. Kim. Graphs. 2001."]]), last_year=2030)
        >>> article.title, article.abstract, article.year, article.references
        ('On trees', 'We draw.', 2019, ('B. Kim. Graphs. 2001.',))
        >>> article.paragraphs
        (('1 Introduction', [('As in ', ()), ('[1]', (0,)), ('.', ())]),)
    """
    lines = [Line(page, bare) for page, raw in without_margins(pages.lines) if (bare := _text(raw))]
    if len(lines) > MAX_LINES:
        raise InputError(f"{ReadingBudget.noun} has more than {MAX_LINES:,} lines", hint=HINT)
    first = [line.text for line in lines if line.page == lines[0].page]
    usual = usual_length(lines)
    title = _title(pages, first)
    begin, end, body, rest = _abstract_of(lines, usual, _bare(title))
    check()
    listed, last = _list_of(lines, body)
    references = split_references([line.text for line in lines[listed + 1 : last]])
    check()
    text = [*lines[body:listed], *lines[last:]]
    sections, paragraphs = [], []
    section = ""
    for part in parts_of(
        text, "" if begin else title, is_heading=is_plain_heading, is_own=_is_section_or_own
    ):
        if part.kind == "heading":
            section = part.text
            continue
        sections.append(section)
        paragraphs.append(part.text)
    check()
    marks = citation_marks(paragraphs, references)
    check()
    abstract = ""
    for line in [rest, *(line.text for line in lines[begin:end])]:
        abstract = joined(abstract, line) if line else abstract
    front = [line.text for line in lines[:listed] if line.page == lines[0].page]
    dois = {doi.text.lower() for line in front for doi in printed_dois(line)}
    stamp = next(filter(None, map(_STAMP.search, front)), None)
    head = [line.text for line in lines[: max(0, begin - 1) or _HEAD // 10]]
    return Article(
        title,
        abstract,
        _year([*head, *filter(_IMPRINT.match, front)], pages.created, last_year),
        # A page that names several names those of others, too.
        dois.pop() if len(dois) == 1 else "",
        arxiv_number(stamp[0]) if stamp else "",
        tuple(reference.text for reference in references),
        tuple(
            (section, list(_pieces(paragraph, own)))
            for section, paragraph, own in zip(sections, paragraphs, marks, strict=True)
        ),
    )


def _is_section_or_own(line: str) -> bool:
    return is_own_heading(line) or is_section_heading(line)


def _title(pages: PDFPages, first: Sequence[str]) -> str:
    """The title of the metadata if the first page has it, else what is set largest, else the first line of text."""
    page, named, largest = _bare(" ".join(first)), _text(pages.named), _text(pages.title)
    if len(named.split()) > 1 and _bare(named) in page:
        return named
    large = _bare(largest)
    if len(large) > 1:
        # The lines have the spaces between words that the letters lack.
        found = [line for line in first if _bare(line) and _bare(line) in large]
        return " ".join(found) if _bare(" ".join(found)) == large else largest
    lines = [line for line in first if len(line.split()) > 1 and not _NO_TITLE.search(line)]
    title = ""
    for line in lines:
        title = joined(title, line)
        if not _OPEN.search(line):
            break
    return title if len(title) <= TITLE_CHARS else ""


def _text(raw: str) -> str:
    """A text without what is none."""
    return " ".join(_NO_TEXT.sub(" ", raw).split())


def _bare(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _abstract_of(lines: Sequence[Line], usual: int, title: str) -> tuple[int, int, int, str]:
    """(begin, end) of the abstract's lines, where the body begins, and what stands behind the word *Abstract*.

    Without an abstract ``begin`` and ``end`` are 0.
    """
    # A title may begin with the word, as "Abstract meaning representation".
    heads = (
        (at, _ABSTRACT.match(line.text))
        for at, line in enumerate(lines[:_HEAD])
        if _bare(line.text) not in title
    )
    at, match = next(((at, match) for at, match in heads if match), (-1, None))
    if match is None:
        introduction = (at for at, line in enumerate(lines[:_HEAD]) if is_introduction_heading(line.text))
        return 0, 0, next(introduction, 0), ""
    begin, last = at + 1, min(at + 1 + _ABSTRACT_LINES, len(lines))
    rest = match["rest"].strip()
    near = range(begin, last)
    introduction = (n for n in near if is_introduction_heading(lines[n].text))
    behind = (n for n in near if _ends_abstract(lines[n].text))
    body = next(introduction, None)
    end = next(behind, body)
    if end is None:
        # The first paragraph, where no heading follows.
        end = next((n + 1 for n in near if ends_paragraph(lines[n].text, usual)), last)
    end = end if body is None else min(end, body)
    return begin, end, end if body is None else body, rest


def _ends_abstract(line: str) -> bool:
    return (
        bool(_KEYWORDS.match(line))
        or is_references_heading(line)
        or (bool(_NUMBERED.match(line)) and is_plain_heading(line))
    )


def _list_of(lines: Sequence[Line], body: int) -> tuple[int, int]:
    """Where the heading of the list of references stands, and where the list ends; the end twice without one."""
    heads = [at for at in range(body, len(lines)) if is_references_heading(lines[at].text)]
    if not heads:
        return len(lines), len(lines)
    behind = (
        at
        for at in range(heads[-1] + 1, len(lines))
        if is_plain_heading(lines[at].text)
        and begins_behind_references(re.sub(r"^[A-Z]\.?\s+", "", lines[at].text))
    )
    return heads[-1], next(behind, len(lines))


def _year(head: Sequence[str], created: int, last_year: int) -> int:
    """The latest year of the article's head that may be true, else that in which the file was made."""
    latest = min(last_year, created + 1 if created else last_year)
    years = [int(year) for line in head for year in _YEAR.findall(line)]
    return max((year for year in years if year <= latest), default=created if created <= last_year else 0)


def _pieces(
    text: str, marks: Sequence[tuple[int, int, tuple[int, ...]]]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    at = 0
    for start, end, cited in marks:
        if start > at:
            yield text[at:start], ()
        yield text[start:end], cited
        at = end
    if at < len(text):
        yield text[at:], ()
