"""What the citations of a .docx file cite that are not plain text: those of Zotero, Mendeley, EndNote and Word.

Zotero writes ``ADDIN ZOTERO_ITEM CSL_CITATION {…}`` and Mendeley ``ADDIN CSL_CITATION {…}``, with CSL-JSON in them, and
EndNote ``ADDIN EN.CITE <EndNote>…`` with its own XML. Word's ``CITATION Lee99`` names a source of the document, which
is kept as XML in a part of its own. :mod:`cocite.drafts.word_codes` says where else such codes stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from docx.oxml import parse_xml

from cocite.corpus.bibtex import citation_keys
from cocite.corpus.cleaning import repair
from cocite.corpus.importers.csl import paper_of_item
from cocite.corpus.importers.endnote import paper_of_record
from cocite.corpus.importers.values import FieldError, bare_doi, objects
from cocite.corpus.records import PaperRecord
from cocite.drafts.draft import Citation, Place
from cocite.drafts.limits import MAX_CITED, MAX_FIELD, MAX_FIELDS, Budget
from cocite.drafts.word_codes import citation_codes
from cocite.drafts.word_text import WordFile, WordParagraph

_CSL = re.compile(r"\s*ADDIN\s+(?:ZOTERO_ITEM\s+)?CSL_CITATION\s*(?=\{)")
_CITATION = re.compile(r"\s*CITATION\s")
_ENDNOTE = re.compile(r"\s*ADDIN\s+EN\.CITE(?![.\w])\s*")
_WORDS = re.compile(r'"([^"]*)"|(\S+)')
_SOURCES = "{http://schemas.openxmlformats.org/officeDocument/2006/bibliography}"
_NAMESPACE = _SOURCES[1:-1].encode()
_YEAR = re.compile(r"\d{4}")
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_TITLE, _AUTHORS = 2_000, 20
"""Characters of a title, and authors, that are kept of a paper."""


def cited_by_fields(
    word: WordFile, name: str, budget: Budget
) -> tuple[tuple[Citation, ...], tuple[PaperRecord, ...], tuple[str, ...]]:
    """What a file's fields, content controls and bookmarks cite.

    Args:
        word: the file.
        name: of the file, for the places.
        budget: of the reading.

    Returns:
        The citations in the order of the text; an entry for each paper, whose id is its key; and a sentence for what
        could not be read.
    """
    sources = _sources(word)
    found: list[tuple[WordParagraph, PaperRecord]] = []
    count = unread = 0
    for paragraph, instruction in citation_codes(word):
        budget.check_time()
        is_csl, is_endnote = _CSL.match(instruction), _ENDNOTE.match(instruction)
        if not (is_csl or is_endnote or _CITATION.match(instruction)):
            continue
        count += 1
        papers: list[PaperRecord | None] = [None]
        if count <= MAX_FIELDS and len(instruction) <= MAX_FIELD:
            if is_csl:
                papers = _items(instruction, is_csl.end())
            elif is_endnote:
                papers = _records(instruction[is_endnote.end() :])
            else:
                papers = _named(instruction, sources)
        unread += None in papers
        found += [(paragraph, paper) for paper in papers if paper is not None]
    # Mendeley numbers what is cited anew in each field, so that an item's own id says nothing.
    distinct: dict[tuple[str, str], PaperRecord] = {}
    keyed: list[tuple[WordParagraph, tuple[str, str]]] = []
    for paragraph, paper in found:
        same = ("doi", paper.doi.lower()) if paper.doi else (paper.title.casefold(), str(paper.year))
        if same in distinct or len(distinct) < MAX_CITED:
            distinct.setdefault(same, paper)
            keyed.append((paragraph, same))
    keys = dict(zip(distinct, citation_keys(list(distinct.values())), strict=True))
    warnings = []
    if unread:
        fields = "1 citation field" if unread == 1 else f"{unread:,} citation fields"
        warnings.append(
            f"{fields} could not be read, so that papers cited there may be recommended: refresh them in Word"
        )
    if len(keyed) < len(found):
        warnings.append(f"the fields cite more than {MAX_CITED:,} papers: the others were left out")
    return (
        tuple(
            Citation(keys[same], Place(name, one.number, one.start, one.start + len(one.text)))
            for one, same in keyed
        ),
        tuple(replace(paper, id=keys[same]) for same, paper in distinct.items()),
        tuple(warnings),
    )


def _items(instruction: str, start: int) -> list[PaperRecord | None]:
    """The papers of a field that holds CSL-JSON; None for what cannot be read."""
    try:
        # Older versions of Zotero write something behind the object.
        value, _ = json.JSONDecoder().raw_decode(instruction, start)
        items = objects(value, "citationItems")
    except (ValueError, RecursionError, FieldError):
        return [None]
    return [_item(item.get("itemData")) for item in items]


def _records(text: str) -> list[PaperRecord | None]:
    """The papers of a field of EndNote; None for one without a record."""
    try:
        root = parse_xml(text.encode())
    except (ValueError, SyntaxError):  # what lxml raises is a SyntaxError
        return [None]
    records = (cite.find("record") for cite in root.iter("Cite"))
    papers = (None if record is None else _kept(paper_of_record(record)) for record in records)
    return [paper if paper and (paper.title or paper.doi) else None for paper in papers] or [None]


def _item(data: Any) -> PaperRecord | None:
    try:
        paper = _kept(paper_of_item(data))
    except FieldError:
        return None
    return paper if paper.title or paper.doi else None


def _named(instruction: str, sources: Mapping[str, PaperRecord]) -> list[PaperRecord | None]:
    """The sources that a field of Word names; None for one that the document lacks."""
    words = [quoted or bare for quoted, bare in _WORDS.findall(instruction)][1:]
    # The first word is a tag, and so is each that follows a \\m; other switches have pages, prefixes and languages.
    tags = [word for before, word in zip(["\\m", *words], words, strict=False) if before.lower() == "\\m"]
    return [sources.get(tag) for tag in tags if not tag.startswith("\\")]


def _sources(word: WordFile) -> dict[str, PaperRecord]:
    """Tag -> the source of that tag, of those that Word keeps in the document."""
    found: dict[str, PaperRecord] = {}
    for relation in word.document.part.rels.values():
        if relation.reltype.rpartition("/")[2] != "customXml" or relation.is_external:
            continue
        blob = relation.target_part.blob
        # Parts of other names do not count in the limit of what is parsed.
        if not relation.target_part.partname.endswith(".xml") or _NAMESPACE not in blob:
            continue
        try:
            root = parse_xml(blob)
        except (ValueError, SyntaxError):  # what lxml raises is a SyntaxError
            continue
        for source in root.iter(f"{_SOURCES}Source"):
            tag = _text(source, "Tag")
            if tag:
                found.setdefault(tag, _source(source))
    return found


def _source(source: Any) -> PaperRecord:
    year = _YEAR.search(_text(source, "Year"))
    doi = _DOI.search(_text(source, "DOI") or _text(source, "StandardNumber"))
    names = [_text(one, "Corporate") for one in source.iterfind(f"{_SOURCES}Author/{_SOURCES}Author")]
    people = source.iterfind(f"{_SOURCES}Author/{_SOURCES}Author/{_SOURCES}NameList/{_SOURCES}Person")
    names += [
        " ".join(filter(None, (_text(one, part) for part in ("First", "Middle", "Last")))) for one in people
    ]
    return _kept(
        PaperRecord(
            "",
            _text(source, "Title"),
            year=int(year[0]) if year else 0,
            authors=tuple(filter(None, names)),
            doi=bare_doi(doi[0]) if doi else "",
        )
    )


def _text(element: Any, name: str) -> str:
    found = element.find(f"{_SOURCES}{name}")
    return "" if found is None else " ".join((found.text or "").split())


def _kept(paper: PaperRecord) -> PaperRecord:
    """What finds a paper in a corpus, and no more."""
    title = repair(" ".join(paper.title.split())[:_TITLE])[0]
    authors = tuple(repair(name[:_TITLE])[0] for name in paper.authors[:_AUTHORS])
    return PaperRecord("", title, year=paper.year, authors=authors, doi=repair(paper.doi[:_TITLE])[0])
