"""Papers in TEI, as GROBID writes them of PDFs: the metadata, the references, and the body with marked citations.

What a PDF's layout put into the body but is no running text, as figures, tables and footnotes, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from cocite.corpus.arxiv import arxiv_number
from cocite.corpus.importers.fulltext import BodyText
from cocite.corpus.importers.named_papers import Named
from cocite.corpus.importers.values import bare_doi
from cocite.corpus.names import Name
from cocite.corpus.records import ARXIV_DOI, PaperRecord

ROOT = "TEI"
"""The outermost element."""
HEADER = "teiHeader"
"""The element of the metadata."""
_SOURCE = "fileDesc/sourceDesc/biblStruct"
_NO_TEXT = frozenset({"figure", "note", "table"})
_YEAR = re.compile(r"\d{4}", re.ASCII)


def header_name(header: Element) -> Named:
    """What the paper with a header is found by.

    Example:
        >>> from xml.etree.ElementTree import fromstring
        >>> text = "<teiHeader><fileDesc><titleStmt><title>On BERT</title></titleStmt></fileDesc></teiHeader>"
        >>> header_name(fromstring(text))
        Named(doi='', arxiv='', title='On BERT')
    """
    source = header.find(_SOURCE)
    title = _line(header.find("fileDesc/titleStmt/title"))
    return _named(source, title or _line(_find(source, "analytic/title")))


def header_paper(header: Element, id_: str) -> PaperRecord:
    """The paper that a header describes, without its citations."""
    name, source = header_name(header), header.find(_SOURCE)
    dates = (_find(source, "monogr/imprint/date"), header.find("fileDesc/publicationStmt/date"))
    years = (_YEAR.match((date.get("when") or _line(date)).strip()) for date in dates if date is not None)
    keywords = header.find("profileDesc/textClass/keywords")
    terms = () if keywords is None else map(_line, keywords.findall("term"))
    abstract = header.find("profileDesc/abstract")
    paragraphs = () if abstract is None else (_line(element) for element, _ in _paragraphs(abstract, ""))
    return PaperRecord(
        id=id_,
        title=name.title,
        abstract=" ".join(line for line in paragraphs if line),
        year=next((int(year.group()) for year in years if year), 0),
        venue=_line(_find(source, "monogr/title")),
        authors=()
        if source is None
        else tuple(filter(None, map(_author, source.findall("analytic/author")))),
        keyphrases=tuple(filter(None, terms)),
        doi=name.doi or (ARXIV_DOI + name.arxiv if name.arxiv else ""),
    )


def references(document: Element) -> dict[str, Named]:
    """Name of each reference of a document, as its citations have it, -> what the cited paper is found by."""
    found: dict[str, Named] = {}
    for entries in document.iterfind("text/back//listBibl"):
        for entry in entries.iterfind("biblStruct"):
            title = _line(entry.find("analytic/title"))
            # Without a part of its own, the whole is the work, unless it is a journal.
            title = title or _line(entry.find("monogr/title[@level='m']"))
            found.setdefault(entry.get("id") or f"#{len(found)}", _named(entry, title))
    return found


def body_of(document: Element, cited: Mapping[str, str]) -> BodyText:
    """The body of a document.

    Args:
        document: the outermost element.
        cited: name of a reference -> id of the cited paper, empty when unknown.
    """
    body = BodyText()
    element = document.find("text/body")
    for paragraph, section in () if element is None else _paragraphs(element, ""):
        _add(body, paragraph, cited)
        body.end_paragraph(section)
    return body


def _paragraphs(element: Element, section: str) -> Iterator[tuple[Element, str]]:
    """The paragraphs of a division and of those within it, with the headings above them."""
    for child in element:
        if child.tag == "head":
            section = _line(child)
        elif child.tag in ("p", "item"):
            yield child, section
        elif child.tag in ("div", "list"):
            yield from _paragraphs(child, section)


def _add(body: BodyText, element: Element, cited: Mapping[str, str]) -> None:
    """Go on with the content of an element."""
    body.add(element.text or "")
    for child in element:
        if child.tag == "ref" and child.get("type") == "bibr":
            # Of several targets the first: one mark is one citation.
            target = next(iter(child.get("target", "").split()), "")
            body.cite("".join(child.itertext()), cited.get(target.removeprefix("#"), ""))
        elif child.tag not in _NO_TEXT:
            _add(body, child, cited)
        if child.tag == "s":
            body.add(" ")  # sentences stand close to each other
        body.add(child.tail or "")


def _named(entry: Element | None, title: str) -> Named:
    doi = arxiv = ""
    for idno in () if entry is None else entry.iter("idno"):
        kind, text = idno.get("type", "").lower(), _line(idno)
        if kind == "doi":
            doi = doi or bare_doi(text).lower()
        elif kind == "arxiv":
            arxiv = arxiv or arxiv_number(text)
    return Named(doi, arxiv or (arxiv_number(doi) if doi.startswith(ARXIV_DOI.lower()) else ""), title)


def _author(author: Element) -> str:
    name = author.find("persName")
    if name is None:
        return _line(author.find("orgName"))
    given = " ".join(filter(None, map(_line, name.findall("forename"))))
    return Name(_line(name.find("surname")), given, suffix=_line(name.find("genName"))).first_last


def _find(element: Element | None, path: str) -> Element | None:
    return None if element is None else element.find(path)


def _line(element: Element | None) -> str:
    """The text of an element in one line; empty when there is none."""
    return "" if element is None else " ".join("".join(element.itertext()).split())
