"""BibTeX bibliographies, parsed by pybtex one entry at a time.

The citation key is the id. BibTeX knows no citations, so such a corpus has candidates alone. An entry takes what it
lacks from the entry of the same file that its ``crossref`` names, wherever that stands.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.text_lines import in_utf8
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.records import Malformed, Record

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

        parents = self._parents(file)
        parser = EntryParser()
        self.position.file = file.name
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

    def _parents(self, file: Path) -> dict[str, Fields]:
        """The fields of the entries that others refer to, by their keys in lower case."""
        from cocite.corpus.importers.bibtex_entries import INHERITED, Entry, EntryParser

        keys = {key.lower() for text in _texts(file, _CROSSREF.search) for key in _CROSSREF.findall(text)}
        if not keys:
            return {}

        def needed(text: str) -> bool:
            return bool(_STRING.search(text)) or any(key.lower() in keys for key in _KEY.findall(text))

        parser = EntryParser()
        parents: dict[str, Fields] = {}
        for text in _texts(file, needed):
            for _, entry in parser.parse(in_utf8(text)[0], 1):
                if isinstance(entry, Entry) and entry.key.lower() in keys:
                    fields = {name: entry.fields[name] for name in INHERITED if name in entry.fields}
                    parents.setdefault(entry.key.lower(), fields)
        return parents


def _texts(file: Path, needed: Callable[[str], Any]) -> Iterator[str]:
    return (text for _, _, text in _blocks(file) if isinstance(text, str) and needed(text))


def _blocks(file: Path) -> Iterator[tuple[int, int, str | Malformed]]:
    """Pieces of a file that begin where an entry begins a line: bytes read so far, number of the first line, text.

    An entry that is not closed spoils its own piece alone. Bytes that are not UTF-8 become lone surrogates.
    """
    piece: list[str] = []
    size, first = 0, 1
    with InputFile(file) as stream:
        lines = enumerate(io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape"), 1)
        while True:
            number, line = next(lines, (0, ""))
            if (not number or _ENTRY.match(line)) and piece:
                too_long = Malformed(f"an entry of more than {MAX_ENTRY >> 20} Mi characters")
                yield stream.bytes_read, first, "".join(piece) if size <= MAX_ENTRY else too_long
                piece, size = [], 0
            if not number:
                return
            if not piece:
                first = number
            size += len(line)
            if size <= MAX_ENTRY or not piece:
                piece.append(line)
