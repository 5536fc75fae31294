"""Zotero RDF, an export of Zotero libraries: one element for each item, with its journal in it or beside it.

The statements that Zotero's translator *Zotero RDF* writes are read as XML, as it always writes them in the same form;
RDF of another form has none of its ``itemType``, and so no papers. There are no citations in it.

Source: https://github.com/zotero/translators, ``Zotero RDF.js``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from cocite.corpus.arxiv import arxiv_number
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.values import bare_doi, title_id
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.importers.xml_records import XMLRecord, xml_records
from cocite.corpus.records import ARXIV_DOI, PaperRecord, Record
from cocite.corpus.streams import SourcePosition

ROOT = "RDF"
"""The outermost element, without its namespace."""
_CONTAINERS = frozenset(
    {"Journal", "Periodical", "Newspaper", "Book", "CourtReporter", "Website", "Blog", "Forum"}
)
"""Elements that an item is part of; *Book* is an item of its own, too."""
_ITEMS = frozenset(
    """Article Book BookSection Thesis Letter Manuscript Interview MotionPicture Illustration Document Report
    Legislation Patent Image Recording ConferenceProceedings Data Description""".split()
)
"""Elements that an item is; *Description* is that of a type that the vocabulary lacks, such as a conference paper."""
_NO_PAPER = frozenset({"attachment", "note", "annotation"})
_YEAR = re.compile(r"\b\d{4}\b", re.ASCII)
_DOI = re.compile(r"(?im)^doi:?\s+(\S+)|^https?://(?:dx\.)?doi\.org/(\S+)")


class ZoteroRDF(WholeFiles):
    """Items of one or several ``.rdf`` files; attachments and notes are none.

    The id is the DOI, or that which arXiv gave, or else title and year: the ``about`` of an item is an address, or a
    number of one export.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.zotero_rdf import ZoteroRDF
        >>> names = 'xmlns:rdf="r" xmlns:bib="b" xmlns:z="z" xmlns:dc="d"'
        >>> item = "<bib:Article><z:itemType>journalArticle</z:itemType><dc:title>On BERT</dc:title></bib:Article>"
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "library.rdf")
        ...     _ = path.write_text(f"<rdf:RDF {names}>{item}</rdf:RDF>")
        ...     paper, = ZoteroRDF(path)
        >>> paper.id, paper.title
        ('On BERT', 'On BERT')
    """

    format = "zotero-rdf"
    suffixes = ".rdf"

    @staticmethod
    def recognises(root: Element) -> bool:
        """Whether a file with this outermost element may be an export of Zotero."""
        return root.tag == ROOT

    def read(self, file: Path) -> Iterator[Record]:
        """The papers of one file.

        The file is read twice: an item names a journal that has an ISSN, and that stands anywhere in the file.

        Raises:
            InputError: the file is no XML of RDF, or exceeds a limit.
        """
        self.name_file(file)
        with InputFile(file) as stream:
            beside = {
                element.get("about", ""): _container(element)
                for around, element in xml_records(stream, self.position, _CONTAINERS, ROOT)
                if len(around) == 1
            }

        def read(stream: InputFile, position: SourcePosition) -> Iterator[XMLRecord]:
            return xml_records(stream, position, _ITEMS | _CONTAINERS, ROOT)

        for around, element in self.values_of(file, read):
            kind = _text(element, "itemType")
            if len(around) == 1 and kind and kind not in _NO_PAPER:
                yield _paper(element, beside)


def _container(element: Element) -> tuple[str, str]:
    """Title and DOI that stand in a container: Zotero writes there the DOI of the one item that it is of."""
    return _text(element, "title"), _doi(element)


def _paper(item: Element, beside: dict[str, tuple[str, str]]) -> PaperRecord:
    parts = [
        beside.get(part.get("resource", ""), ("", ""))
        for part in item.iter("isPartOf")
        if part.get("resource") is not None
    ]
    parts += [_container(one) for part in item.iter("isPartOf") for one in part if one.tag in _CONTAINERS]
    title, date = _text(item, "title"), _YEAR.search(_text(item, "date"))
    year = int(date.group()) if date else 0
    extra = _lines(item, "description")
    doi = next(filter(None, [_doi(item), *(doi for _, doi in parts)]), "")
    if not doi:
        addresses = [*_identifiers(item), *(line for line in extra if "arxiv" in line.lower())]
        number = next(filter(None, map(arxiv_number, addresses)), "")
        doi = ARXIV_DOI + number if number else ""
    venues = [*(venue for venue, _ in parts), _text(item, "publisher/Organization/name")]
    return PaperRecord(
        doi or title_id(title, year),
        title,
        abstract=_text(item, "abstract"),
        year=year,
        venue=next(filter(None, venues), ""),
        authors=tuple(filter(None, (_name(one) for one in item.iterfind("authors/Seq/li/Person")))),
        keyphrases=tuple(filter(None, (_line("".join(one.itertext())) for one in item.iterfind("subject")))),
        doi=doi,
    )


def _identifiers(element: Element) -> list[str]:
    """What identifies an item or a container: texts such as ``DOI 10.1000/182``, and addresses."""
    own = (_line("".join(one.itertext())) for one in element.iterfind("identifier"))
    return [*own, element.get("about", "")]


def _doi(element: Element) -> str:
    """The DOI of an item or container, also from a line of the field *Extra*; "" without one."""
    for text in (*_identifiers(element), *_lines(element, "description")):
        if found := _DOI.match(text):
            doi = bare_doi(found[1] or found[2])
            if doi.startswith("10."):
                return doi
    return ""


def _name(person: Element) -> str:
    # Zotero wrote "givenname" before 2019.
    given = _text(person, "givenName") or _text(person, "givenname")
    return _line(f"{given} {_text(person, 'surname')}")


def _lines(element: Element, path: str) -> list[str]:
    return [_line(line) for line in (element.findtext(path) or "").splitlines()]


def _text(element: Element, path: str) -> str:
    """The text at a path, in one line; empty when there is none."""
    return _line(element.findtext(path) or "")


def _line(text: str) -> str:
    return " ".join(text.split())
