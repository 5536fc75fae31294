"""cocite's own JSON lines: papers, contexts, sentences and citations, as ``docs/corpus-format.md`` describes them.

Which of the four a line is follows from its fields, which :mod:`cocite.corpus.fields` defines. A paper may carry its
own contexts and sentences. A field that is not defined is counted and otherwise ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cocite.corpus.fields import kind_of
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.json_values import is_document, is_too_long, parse, too_long_line
from cocite.corpus.importers.line_blocks import PAUSE, LineBlock, line_blocks
from cocite.corpus.importers.native_fields import context_of, read_fields
from cocite.corpus.importers.parts import SourcePart
from cocite.corpus.importers.record_reading import citations_of, read_records
from cocite.corpus.importers.source import JSONLines
from cocite.corpus.importers.values import FieldError
from cocite.corpus.record_block import RecordBlock
from cocite.corpus.records import (
    ContextRecord,
    Malformed,
    NumberedId,
    PaperRecord,
    Record,
    SentenceRecord,
    UnknownFields,
)


class NativeJSONL(JSONLines):
    """Papers, contexts, sentences and citations, one a line, in any order.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.jsonl import NativeJSONL
        >>> lines = ['{"id": "a", "title": "A", "year": "1999"}', '{"citing": "b", "cited": "a"}', '{"id": 3']
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "corpus.jsonl")
        ...     _ = path.write_text("\\n".join(lines))
        ...     for record in NativeJSONL(path):
        ...         print(type(record).__name__)
        PaperRecord
        CitationRecord
        Malformed
    """

    format = "jsonl"

    def __init__(self, path: Path, files: list[Path] | None = None) -> None:
        super().__init__(path, files)
        self.decoder = json.JSONDecoder(object_pairs_hook=_distinct)
        self._unnamed = 0
        self._in_blocks = False

    def begin(self) -> None:
        """Number the contexts without an id from 0."""
        self._unnamed = 0

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like one of this format."""
        return (
            ("id" in value and "title" in value)
            or ("citing" in value and "cited" in value)
            or "paper" in value
        )

    def record_blocks(self, part: SourcePart | None = None) -> Iterator[Record | RecordBlock]:
        """The lines in blocks; the records of a file that is an array or a document one by one."""
        self._in_blocks = True
        try:
            yield from super().record_blocks(part)
        finally:
            self._in_blocks = False

    def read(self, file: Path, first: int = 0, last: int | None = None) -> Iterator[Any]:
        """The records of a file or of a range of its lines, in blocks where they were asked for."""
        if self._in_blocks and (first or not is_document(file, self.decoder)):
            return self._read_blocks(file, first, last)
        return super().read(file, first, last)

    def _read_blocks(self, file: Path, first: int, last: int | None) -> Iterator[RecordBlock]:
        self.name_file(file)
        before = self.done - first
        line = pause = 0
        with InputFile(file) as stream:
            if first:
                stream.seek(first)
            for lines in line_blocks(stream, None if last is None else last - first):
                self.done = before + stream.bytes_read
                columns, rows, others = lines.columns() if not pause else lines.no_columns()
                pause = pause - 1 if pause else PAUSE * (len(others) > len(rows))
                block = RecordBlock(
                    self.position.file,
                    line + 1,
                    columns,
                    rows,
                    others,
                    partial(self._read_line, lines),
                    self._unnamed,
                )
                line += len(lines)
                self.position.line = line
                yield block
                self._unnamed = block.number
        self.done = before + (file.stat().st_size if last is None else last)

    def _read_line(self, lines: LineBlock, index: int, number: int) -> Iterator[Record]:
        """The records of one line of a block."""
        self._unnamed = number
        line = lines.line(index)
        yield from self.records_of(too_long_line() if is_too_long(line) else parse(line, self.decoder))

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The records of one line."""
        kind = kind_of(value)
        unknown: list[str] = []
        fields = read_fields(kind, value, unknown)
        if kind == "paper":
            yield from self._paper(fields, unknown)
        elif kind == "context":
            yield self._context(fields)
        elif kind == "sentence":
            yield SentenceRecord(**{"position": 0} | fields)
        else:
            yield from citations_of(fields)
        if unknown:
            yield UnknownFields(kind, tuple(unknown))

    def _paper(self, fields: dict[str, Any], unknown: list[str]) -> Iterator[Record]:
        """A paper, then the contexts and sentences within it."""
        contexts, sentences = fields.pop("contexts", ()), fields.pop("sentences", ())
        paper = PaperRecord(**fields)
        yield paper
        for item in contexts:
            # Within its paper a context may call its text so.
            if isinstance(item, dict) and "text" in item and "context" not in item:
                item = {"context" if name == "text" else name: value for name, value in item.items()}
            yield from _nested("contexts", item, unknown, partial(self._context_of, paper.id))
        for position, item in enumerate(sentences):
            if isinstance(item, str):
                yield SentenceRecord(paper.id, position, item)
            else:
                yield from _nested("sentences", item, unknown, partial(_sentence_of, paper.id, position))

    def _context_of(self, citing: str, fields: dict[str, Any]) -> ContextRecord:
        return self._context(fields | {"citing": citing})

    def _context(self, fields: dict[str, Any]) -> ContextRecord:
        if not fields.get("id", "").strip():
            fields["id"] = NumberedId(fields["citing"], self._unnamed)
            self._unnamed += 1
        return context_of(fields)


def _sentence_of(paper: str, position: int, fields: dict[str, Any]) -> SentenceRecord:
    return SentenceRecord(**{"paper": paper, "position": position, **fields})


def _nested(
    name: str, item: Any, unknown: list[str], make: Callable[[dict[str, Any]], Record]
) -> Iterator[Record]:
    """The record of an object within a paper; one that does not fit is left out by itself."""
    if not isinstance(item, dict):
        yield Malformed(str(FieldError(name, "a list of objects", item)), name)
        return

    def read(value: dict[str, Any]) -> Iterator[Record]:
        names: list[str] = []
        fields = read_fields(name, value, names)
        unknown.extend(f"{name}.{field}" for field in names)
        yield make(fields)

    yield from read_records(item, read, within=name)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a JSON object, each of which may be given once."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} is given twice")
    return result
