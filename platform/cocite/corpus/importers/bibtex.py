"""BibTeX bibliographies, read by bibtexparser some entries at a time.

The citation key is the id. BibTeX knows no citations, so such a corpus has candidates alone.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path

from cocite.corpus.importers.files import InputFile, data_files
from cocite.corpus.importers.source import Source
from cocite.corpus.records import Malformed, PaperRecord, Record
from cocite.errors import InputError

CHUNK = 1 << 18
"""Characters parsed at a time."""
MAX_ENTRY = 16 << 20
"""Characters of the longest entry read before the file is given up."""
_ENTRY = re.compile(r"^\s*@\s*\w+\s*[{(]")
_STRING = re.compile(r"^\s*@\s*string\b", re.IGNORECASE)
_YEAR = re.compile(r"\d{3,4}")


class BibTeX(Source):
    """Entries of one or several ``.bib`` files."""

    format = "bibtex"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.files = data_files(path)
        if not self.files:
            raise InputError("holds no .bib file", where=str(path))
        self.total = sum(file.stat().st_size for file in self.files)

    def __iter__(self) -> Iterator[Record]:
        # The parser tells of broken blocks in its log as well; here they become rejects.
        logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
        yield from self.unread(self.files)
        for file in self.files:
            yield from self._read(file)

    def _read(self, file: Path) -> Iterator[Record]:
        self.place.file = file.name
        before, strings = self.done, ""
        with InputFile(file) as stream:
            lines = io.TextIOWrapper(stream, "utf-8", "surrogateescape")
            for first, chunk in _chunks(lines):
                if len(chunk) > MAX_ENTRY:
                    self.place.line = first
                    yield Malformed(f"an entry of more than {MAX_ENTRY >> 20} Mi characters")
                    continue
                yield from self._parse(chunk, first, strings)
                strings += "".join(line for line in chunk.splitlines(True) if _STRING.match(line))
                self.done = before + stream.position

    def _parse(self, chunk: str, first: int, strings: str) -> Iterator[Record]:
        import bibtexparser
        from bibtexparser.middlewares import LatexDecodingMiddleware
        from bibtexparser.model import DuplicateBlockKeyBlock

        # Abbreviations defined earlier in the file hold here too.
        first -= strings.count("\n")
        library = bibtexparser.parse_string(strings + chunk, append_middleware=[LatexDecodingMiddleware()])
        blocks = sorted([*library.entries, *library.failed_blocks], key=lambda block: block.start_line)
        for block in blocks:
            self.place.line = first + block.start_line
            if isinstance(block, DuplicateBlockKeyBlock):
                if block.start_line >= strings.count("\n") and not _STRING.match(block.raw or ""):
                    yield Malformed(f"an earlier entry has the key {block.key!r}", "id", "duplicate_id")
            elif block in library.failed_blocks:
                yield Malformed(f"not valid BibTeX: {block.error}", excerpt=(block.raw or "")[:200])
            else:
                fields = {name.lower(): str(f.value) for name, f in block.fields_dict.items()}
                yield _paper(block.key, fields)


def _chunks(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Pieces of a file that end where an entry begins, with the number of their first line."""
    piece: list[str] = []
    size, first = 0, 1
    for number, line in enumerate(lines, 1):
        if size >= CHUNK and _ENTRY.match(line):
            yield first, "".join(piece)
            piece, size, first = [], 0, number
        if size <= MAX_ENTRY:
            piece.append(line)
        size += len(line)
    if piece:
        yield first, "".join(piece)


def _paper(key: str, fields: dict[str, str]) -> PaperRecord:
    year = _YEAR.search(fields.get("year", "") or fields.get("date", ""))
    return PaperRecord(
        id=key,
        title=_plain(fields.get("title", "")),
        abstract=_plain(fields.get("abstract", "")),
        year=int(year.group()) if year else 0,
        venue=_plain(
            next(
                (fields[n] for n in ("journal", "journaltitle", "booktitle", "publisher") if fields.get(n)),
                "",
            )
        ),
        authors=tuple(
            _name(name) for name in re.split(r"\s+and\s+", fields.get("author", "")) if name.strip()
        ),
        keyphrases=tuple(
            k.strip() for k in re.split(r"[,;]", _plain(fields.get("keywords", ""))) if k.strip()
        ),
        doi=fields.get("doi", "").removeprefix("https://doi.org/"),
    )


def _plain(text: str) -> str:
    return " ".join(text.replace("{", "").replace("}", "").split())


def _name(name: str) -> str:
    """``Given Family`` of ``Family, Given``; a name in braces belongs to an organisation and stays."""
    parts = [part.strip() for part in _plain(name).split(",")]
    if len(parts) == 1 or name.strip().startswith("{"):
        return _plain(name)
    family, *suffix, given = parts
    return " ".join([given, family, *suffix])
