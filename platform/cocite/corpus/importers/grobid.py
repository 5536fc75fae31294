"""A folder of TEI files, one for each paper, as GROBID writes them of PDFs.

The id of a paper is its file's name. References are links to papers of the same folder: that with the same DOI, else
with the same arXiv number, else with the same title. So all headers are read first, and then all files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from cocite.corpus.importers.files import PACKED, InputFile
from cocite.corpus.importers.named_papers import NamedPapers, linked
from cocite.corpus.importers.parts import SourcePart
from cocite.corpus.importers.source import Source
from cocite.corpus.importers.tei_document import (
    HEADER,
    ROOT,
    body_of,
    header_name,
    header_paper,
    references,
)
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.importers.xml_records import XMLRecord, xml_records
from cocite.corpus.records import Malformed, Record
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

_SUFFIXES = (*PACKED, ".xml", ".tei", ".grobid")
"""What the name of a file ends with and the id lacks, from the end."""


class Grobid(WholeFiles):
    """Papers with their references, sentences and contexts.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.grobid import Grobid
        >>> def write(name, title, text):
        ...     header = f"<fileDesc><titleStmt><title>{title}</title></titleStmt></fileDesc>"
        ...     text = f"<TEI><teiHeader>{header}</teiHeader><text>{text}</text></TEI>"
        ...     Path("papers", name).write_text(text)
        >>> Path("papers").mkdir()
        >>> entry = "<biblStruct xml:id='b0'><analytic><title>On BERT.</title></analytic></biblStruct>"
        >>> body = "<body><div><p>See <ref type='bibr' target='#b0'>[1]</ref> for it.</p></div></body>"
        >>> _ = write("a.tei.xml", "A", f"{body}<back><listBibl>{entry}</listBibl></back>")
        >>> _ = write("b.tei.xml", "On BERT", "")
        >>> paper, sentence, context, other = Grobid(Path("papers"))
        >>> paper.id, paper.citations, context.text
        ('a', ('b',), 'See TARGETCIT for it.')
    """

    format = "grobid"
    suffixes = ".xml"

    @staticmethod
    def recognises(root: Element) -> bool:
        """Whether a file with this outermost element is TEI."""
        return root.tag == ROOT

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._papers = NamedPapers()

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        yield from self.unread(self.files)
        self._papers = NamedPapers()
        for file in self.files:
            self._add(file)
        for file in self.files:
            yield from self.read(file)

    def parts(self, size: int) -> list[SourcePart]:
        """The whole source: references are looked up among all of its papers."""
        return Source.parts(self, size)

    def read_part(self, part: SourcePart) -> Iterator[Record]:
        """The records of the source."""
        return Source.read_part(self, part)

    def read(self, file: Path) -> Iterator[Record]:
        """The records of one file; a file that cannot be read is malformed, and the others are read."""

        def read(stream: InputFile, position: SourcePosition) -> Iterator[XMLRecord]:
            return xml_records(stream, position, {ROOT}, ROOT)

        before = self.done
        self.position.line = 0
        try:
            # A file is one element: whatever is wrong with it, nothing of it has been yielded.
            (_, document), *_ = self.values_of(file, read)
        except InputError as error:
            self.done = before + file.stat().st_size
            yield Malformed(error.message)
            return
        yield from self._records(document, self._id(file))

    def _records(self, document: Element, id_: str) -> Iterator[Record]:
        header = document.find(HEADER)
        if header is None:
            yield Malformed(f"there is no <{HEADER}>", HEADER)
            return
        entries = references(document)
        cited = dict(zip(entries, self._papers.find(entries.values()), strict=True))
        paper = header_paper(header, id_)
        yield from linked(paper, list(cited.values()), "listBibl")
        yield from body_of(document, cited).records(id_)

    def _add(self, file: Path) -> None:
        """Read a file's header. A file that cannot be read is left out: it is reported when it is read in full."""
        try:
            with InputFile(file) as stream:
                found = next(xml_records(stream, SourcePosition(), {HEADER}, ROOT), None)
        except InputError:
            return
        if found is not None:
            self._papers.add(self._id(file), header_name(found[1]))

    def _id(self, file: Path) -> str:
        return self.id_of(file, _SUFFIXES)
