"""EndNote's XML, which EndNote, Zotero and Mendeley export: one ``<record>`` for each reference.

EndNote knows no citations, so such a corpus has candidates alone. A field's text stands in pieces of one style each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.ris import name_of
from cocite.corpus.importers.values import bare_doi, title_id
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.importers.xml_records import XMLRecord, xml_records
from cocite.corpus.records import PaperRecord, Record
from cocite.corpus.streams import SourcePosition

ROOT = "xml"
"""The outermost element."""
_AROUND = [ROOT, "records"]
"""The elements around a record; one elsewhere is of another format."""
_VENUES = ("titles/secondary-title", "periodical/full-title", "titles/alt-title", "publisher")
_YEAR = re.compile(r"\d{4}", re.ASCII)


class EndNote(WholeFiles):
    """References of one or several ``.xml`` files.

    The id is the DOI or the accession number, or else title and year: the number of a record is its place in one
    library.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.endnote import EndNote
        >>> author = "<contributors><authors><author><style>Lee, Ann</style></author></authors></contributors>"
        >>> title = "<titles><title><style>On </style><style face='italic'>BERT</style></title></titles>"
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "library.xml")
        ...     _ = path.write_text(f"<xml><records><record>{author}{title}</record></records></xml>")
        ...     paper, = EndNote(path)
        >>> paper.id, paper.title, paper.authors
        ('On BERT', 'On BERT', ('Ann Lee',))
    """

    format = "endnote"
    suffixes = ".xml"

    @staticmethod
    def recognises(root: Element) -> bool:
        """Whether a file with this outermost element is an export of EndNote."""
        return root.tag == ROOT

    def read(self, file: Path) -> Iterator[Record]:
        """The papers of one file.

        Raises:
            InputError: the file is no XML of EndNote, or exceeds a limit.
        """

        def read(stream: InputFile, position: SourcePosition) -> Iterator[XMLRecord]:
            return xml_records(stream, position, {"record"}, ROOT)

        for around, element in self.values_of(file, read):
            if [outer.tag for outer in around] == _AROUND:
                yield paper_of_record(element)


def paper_of_record(record: Element) -> PaperRecord:
    """The paper of a ``record`` element of EndNote's XML."""
    title = _first(record, "titles/title")
    year = _YEAR.search(_first(record, "dates/year", "dates/pub-dates/date"))
    number = int(year.group()) if year else 0
    doi = bare_doi(_first(record, "electronic-resource-num"))
    # The field may hold other numbers than DOIs.
    doi = doi if doi.startswith("10.") else ""
    # A comma behind the name says that it is an organisation's.
    names = (name_of(name.rstrip(", ")) for name in _all(record, "contributors/authors/author"))
    return PaperRecord(
        doi or _first(record, "accession-num") or title_id(title, number),
        title,
        abstract=_first(record, "abstract"),
        year=number,
        venue=_first(record, *_VENUES),
        authors=tuple(filter(None, names)),
        # Several keywords often stand in one field, a line each.
        keyphrases=tuple(
            filter(
                None,
                (
                    _line(phrase)
                    for field in record.iterfind("keywords/keyword")
                    for phrase in "".join(field.itertext()).splitlines()
                ),
            )
        ),
        doi=doi,
    )


def _first(record: Element, *paths: str) -> str:
    """The first of some fields that has a text, in one line; empty when none has."""
    return next((text for path in paths for text in _all(record, path) if text), "")


def _all(record: Element, path: str) -> list[str]:
    """The text of each element at a path, in one line."""
    return [_line("".join(field.itertext())) for field in record.iterfind(path)]


def _line(text: str) -> str:
    return " ".join(text.split())
