"""The ACL Anthology's XML: a file for each collection, with volumes and their papers, without references.

The id of a paper is its Anthology ID, such as ``P18-1001`` or ``2020.acl-main.1``; where a number of it lacks, its
BibTeX key. Front matter is no paper. Math stays LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.values import bare_doi
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.importers.xml_records import XMLRecord, xml_records
from cocite.corpus.names import Name
from cocite.corpus.records import PaperRecord, Record
from cocite.corpus.streams import SourcePosition

ROOT = "collection"
"""The outermost element."""
_OLD_COLLECTION = re.compile(r"[A-Z]\d\d", re.ASCII)
_YEAR = re.compile(r"\d{4}", re.ASCII)


class ACLAnthology(WholeFiles):
    """Papers of collections.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.acl_anthology import ACLAnthology
        >>> meta = "<meta><booktitle>Proceedings of ACL</booktitle><year>2018</year></meta>"
        >>> paper = "<paper id='1'><title>On <fixed-case>BERT</fixed-case></title>"
        >>> paper += "<author><first>Ann</first><last>Lee</last></author></paper>"
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "P18.xml")
        ...     _ = path.write_text(f"<collection id='P18'><volume id='1'>{meta}{paper}</volume></collection>")
        ...     paper, = ACLAnthology(path)
        >>> paper.id, paper.title, paper.authors, paper.year, paper.venue
        ('P18-1001', 'On BERT', ('Ann Lee',), 2018, 'Proceedings of ACL')
    """

    format = "acl-anthology"
    suffixes = ".xml"

    @staticmethod
    def recognises(root: Element) -> bool:
        """Whether a file with this outermost element is a collection; those of libraries' records have no id."""
        return root.tag == ROOT and "id" in root.attrib

    def read(self, file: Path) -> Iterator[Record]:
        """The papers of one file.

        Raises:
            InputError: the file is no XML of a collection, or exceeds a limit.
        """

        def read(stream: InputFile, position: SourcePosition) -> Iterator[XMLRecord]:
            return xml_records(stream, position, {"meta", "paper"}, ROOT)

        volume, meta = None, Element("meta")
        for around, element in self.values_of(file, read):
            within = around[-1] if around else None
            if within is not volume:
                volume, meta = within, Element("meta")
            if element.tag == "meta":
                meta = element
            else:
                yield _paper(element, meta, [parent.get("id", "") for parent in around[-2:]])


def anthology_id(collection: str, volume: str, paper: str) -> str:
    """The ID of a paper by the ids of its parts.

    Source: the Anthology's naming of papers before 2020, by which workshops have two digits for the volume.

    Example:
        >>> anthology_id("P18", "1", "1"), anthology_id("W18", "5", "12"), anthology_id("2020.acl", "main", "1")
        ('P18-1001', 'W18-0512', '2020.acl-main.1')
    """
    if not _OLD_COLLECTION.fullmatch(collection):
        return f"{collection}-{volume}.{paper}"
    is_wide = collection[0] == "W" or collection == "C69"
    is_wide = is_wide or (collection == "D19" and volume.isdecimal() and int(volume) >= 5)
    return f"{collection}-{volume:0>2}{paper:0>2}" if is_wide else f"{collection}-{volume}{paper:0>3}"


def _paper(element: Element, meta: Element, ids: list[str]) -> PaperRecord:
    parts = (*ids, element.get("id", ""))
    year = _YEAR.search(_child(meta, "year") or _child(element, "year"))
    names = (Name(_child(author, "last"), _child(author, "first")) for author in element.findall("author"))
    return PaperRecord(
        id=anthology_id(*parts) if len(parts) == 3 and all(parts) else _child(element, "bibkey"),
        title=_child(element, "title"),
        abstract=_child(element, "abstract"),
        year=int(year.group()) if year else 0,
        venue=_child(meta, "journal-title") or _child(meta, "booktitle"),
        authors=tuple(name.first_last for name in names if name.first_last),
        doi=bare_doi(_child(element, "doi")),
    )


def _child(element: Element, name: str) -> str:
    """The text of the first child of a name, in one line; empty when there is none."""
    child = element.find(name)
    return "" if child is None else " ".join("".join(_pieces(child)).split())


def _pieces(element: Element) -> Iterator[str]:
    """The text of an element, whose markup is left out but for math."""
    around = "$" if element.tag == "tex-math" else ""
    yield around + (element.text or "")
    for child in element:
        yield from _pieces(child)
        yield child.tail or ""
    yield around
