"""BibTeX bibliographies, parsed by pybtex one entry at a time.

The citation key is the id. BibTeX knows no citations, so such a corpus has candidates alone. An entry takes what it
lacks from the entry of the same file that its ``crossref`` names, wherever that stands.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.text_lines import in_utf8
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.records import Malformed, PaperRecord, Record

if TYPE_CHECKING:
    from cocite.corpus.importers.bibtex_entries import Fields

MAX_ENTRY = 16 << 20
"""Characters of the longest entry read before it is given up."""
_ENTRY = re.compile(r"^\s*@\s*([\w-]+)\s*[{(]")
_KEY = re.compile(r"@\s*[\w-]+\s*[{(]\s*([^\s,}]+)")
_STRING = re.compile(r"@\s*string\b", re.IGNORECASE)
_CROSSREF = re.compile(r"\bcrossref\s*=\s*[\"{]?\s*([^\s\"{},#]+)", re.IGNORECASE)


class BibTeX(WholeFiles):
    """Entries of one or several ``.bib`` files.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.bibtex import BibTeX
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "references.bib")
        ...     _ = path.write_text("@article{lee99, title={On {BERT}}, author={Lee, Ann and others}, year=1999}")
        ...     paper, = BibTeX(path)
        >>> paper.id, paper.title, paper.authors
        ('lee99', 'On BERT', ('Ann Lee',))
    """

    format = "bibtex"
    suffixes = ".bib"

    def read(self, file: Path) -> Iterator[Record]:
        """The records of one file."""
        # The parsers take a tenth of a second to import, which only this format needs.
        from cocite.corpus.importers.bibtex_entries import Entry, EntryParser, papers

        parents = _parents(lambda: (text for _, _, text in _blocks(file)))
        parser = EntryParser()
        self.name_file(file)
        before = self.done
        for bytes_read, first, text in _blocks(file):
            self.done = before + bytes_read
            self.position.line = first
            if isinstance(text, Malformed):
                yield text
                continue
            text, hit = in_utf8(text)
            if hit is not None:
                yield hit
            for line, entry in parser.parse(text, first):
                self.position.line = line
                if isinstance(entry, Entry):
                    yield from papers(entry, parents)
                else:
                    yield entry


def bibtex_papers(data: bytes) -> Iterator[PaperRecord]:
    """The papers of a bibliography that is no file; entries that cannot be read are left out.

    Example:
        >>> [paper.title for paper in bibtex_papers(b"@misc{a, title = {Trees}}\\n@misc{b, title = {")]
        ['Trees']
    """
    from cocite.corpus.importers.bibtex_entries import Entry, EntryParser, papers

    pieces = list(_pieces(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", "surrogateescape")))
    parents = _parents(lambda: (piece for _, piece in pieces))
    parser = EntryParser()
    for first, piece in pieces:
        if isinstance(piece, str):
            for _, entry in parser.parse(in_utf8(piece)[0], first):
                if isinstance(entry, Entry):
                    yield from (paper for paper in papers(entry, parents) if isinstance(paper, PaperRecord))


def _parents(pieces: Callable[[], Iterator[str | Malformed]]) -> dict[str, Fields]:
    """The fields of the entries that others refer to, by their keys in lower case."""
    from cocite.corpus.importers.bibtex_entries import INHERITED, Entry, EntryParser

    def texts(needed: Callable[[str], Any]) -> Iterator[str]:
        return (piece for piece in pieces() if isinstance(piece, str) and needed(piece))

    keys = {key.lower() for text in texts(_CROSSREF.search) for key in _CROSSREF.findall(text)}
    if not keys:
        return {}

    def needed(text: str) -> bool:
        return bool(_STRING.search(text)) or any(key.lower() in keys for key in _KEY.findall(text))

    parser = EntryParser()
    parents: dict[str, Fields] = {}
    for text in texts(needed):
        for _, entry in parser.parse(in_utf8(text)[0], 1):
            if isinstance(entry, Entry) and entry.key.lower() in keys:
                fields = {name: entry.fields[name] for name in INHERITED if name in entry.fields}
                parents.setdefault(entry.key.lower(), fields)
    return parents


def _blocks(file: Path) -> Iterator[tuple[int, int, str | Malformed]]:
    """The pieces of a file: bytes read so far, number of the first line, text."""
    with InputFile(file) as stream:
        for first, text in _pieces(io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape")):
            yield stream.bytes_read, first, text


def _pieces(source: Iterable[str]) -> Iterator[tuple[int, str | Malformed]]:
    """Pieces of lines that begin where an entry begins a line: number of the first line, text.

    An entry that is not closed spoils its own piece alone. Bytes that are not UTF-8 became lone surrogates.
    """
    piece: list[str] = []
    size, first = 0, 1
    lines = enumerate(source, 1)
    while True:
        number, line = next(lines, (0, ""))
        if (not number or _ENTRY.match(line)) and piece:
            too_long = Malformed(f"an entry of more than {MAX_ENTRY >> 20} Mi characters")
            yield first, "".join(piece) if size <= MAX_ENTRY else too_long
            piece, size = [], 0
        if not number:
            return
        if not piece:
            first = number
        size += len(line)
        if size <= MAX_ENTRY or not piece:
            piece.append(line)
