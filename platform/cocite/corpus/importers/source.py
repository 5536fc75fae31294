"""Parts that importers share: sources that give the place of their records, and files of JSON objects."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from cocite.corpus.importers.files import InputFile, data_files, unread_files
from cocite.corpus.importers.json_items import has_items, json_items
from cocite.corpus.importers.json_values import is_document, json_values
from cocite.corpus.importers.parts import SourcePart, byte_ranges
from cocite.corpus.importers.record_reading import malformed
from cocite.corpus.importers.values import FieldError
from cocite.corpus.record_block import RecordBlock
from cocite.corpus.records import Malformed, Record
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

T = TypeVar("T")

FIRST = 20
"""Values at a file's beginning that its format is recognised by."""
PROGRESS = 256
"""Values of a file between two looks at how much of it is read, each of which asks the system."""


class Source(ABC):
    """A file or folder of one format, as a stream of records.

    Attributes:
        path: the file or folder.
        position: file and line of the record last yielded.
        total: bytes to read in all, 0 when unknown.
        done: bytes read so far.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.jsonl import NativeJSONL
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "papers.jsonl")
        ...     _ = path.write_text('{"id": "a", "title": "A"}\\n{"id": "b", "title": "B"}\\n')
        ...     source = NativeJSONL(path)
        ...     for paper in source:
        ...         print(paper.id, source.position, f"{source.done} of {source.total} bytes")
        a papers.jsonl:1 52 of 52 bytes
        b papers.jsonl:2 52 of 52 bytes
    """

    format: str

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.position = SourcePosition()
        self.total = 0
        self.done = 0

    @abstractmethod
    def __iter__(self) -> Iterator[Record]:
        """The records, from the beginning."""

    def parts(self, size: int) -> list[SourcePart]:  # noqa: ARG002 other sources need it
        """Parts whose records, one part after the other, are those of the source.

        Args:
            size: bytes of a part, about; a compressed file is one part whatever its size.
        """
        return [SourcePart(size=self.total)]

    def read_part(self, part: SourcePart) -> Iterator[Record]:  # noqa: ARG002 there is one
        """The records of a part.

        In a part whose lines continue those of another, lines and numbers of contexts begin anew.
        """
        return iter(self)

    def record_blocks(self, part: SourcePart | None = None) -> Iterator[Record | RecordBlock]:
        """The records of the source or of a part, those of many lines at a time where the format allows it."""
        return iter(self) if part is None else self.read_part(part)

    def values_of(
        self,
        file: Path,
        read: Callable[[InputFile, SourcePosition], Iterator[T]],
        first: int = 0,
        last: int | None = None,
    ) -> Iterator[T]:
        """What ``read`` makes of one file, or of its bytes from ``first`` to ``last``; says how far it has come."""
        self.name_file(file)
        before = self.done - first
        with InputFile(file) as stream:
            if first:
                stream.seek(first)
            for number, value in enumerate(read(stream, self.position)):
                if not number % PROGRESS:
                    self.done = before + stream.bytes_read
                yield value
        self.done = before + (file.stat().st_size if last is None else last)

    def name_file(self, file: Path) -> None:
        """Say which file is read now."""
        self.position.file = str(file.relative_to(self.path)) if file != self.path else file.name

    def unread(self, files: list[Path]) -> Iterator[Malformed]:
        """One hit of a rule for each file of the folder that is not among those read."""
        for file in unread_files(self.path, files):
            self.position.file, self.position.line = str(file.relative_to(self.path)), 0
            yield Malformed("the file is not read", rule="unread_file")


class JSONLines(Source):
    """A source of JSON objects in one or several files: one a line, elements of arrays, or whole documents.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.record_reading import paper_of
        >>> from cocite.corpus.importers.source import JSONLines
        >>> class Headlines(JSONLines):
        ...     def records(self, value):
        ...         yield paper_of(value, {"title": ("headline",)})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "news.json")
        ...     _ = path.write_text('[{"id": 1, "headline": "A"}, {"id": 2, "headline": {}}]')
        ...     for record in Headlines(path):
        ...         print(getattr(record, "title", "") or record.reason)
        A
        headline must be text, not an object
    """

    decoder = json.JSONDecoder()

    def __init__(self, path: Path, files: list[Path] | None = None) -> None:
        super().__init__(path)
        self.files = data_files(path) if files is None else files
        if not self.files:
            raise InputError("holds no .jsonl or .json file", where=str(path))
        self.total = sum(file.stat().st_size for file in self.files)

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        self.begin()
        yield from self.unread(self.files)
        for file in self.ordered_files():
            yield from self.read(file)

    def begin(self) -> None:
        """Number what has no id from the beginning."""

    def ordered_files(self) -> list[Path]:
        """The files in their order of reading."""
        return self.files

    def parts(self, size: int) -> list[SourcePart]:
        """Files, or ranges of lines of large files that are not compressed."""
        result = []
        for number, file in enumerate(self.ordered_files()):
            total = file.stat().st_size
            ranges = [] if self.is_whole(file) else byte_ranges(file, size)
            if len(ranges) < 2:
                result.append(SourcePart(number, size=total))
                continue
            result += [SourcePart(number, first, last, last - first, first > 0) for first, last in ranges]
        return result

    def is_whole(self, file: Path) -> bool:
        """Whether a file cannot be divided at its lines."""
        return is_document(file, self.decoder)

    def read_part(self, part: SourcePart) -> Iterator[Record]:
        """The records of a file or of a range of its lines."""
        self.done = 0
        self.begin()
        if part.is_first:
            yield from self.unread(self.files)
        yield from self.read(self.ordered_files()[part.file], part.first, part.last)

    def read(self, file: Path, first: int = 0, last: int | None = None) -> Iterator[Record]:
        """The records of one file, or of those of its lines that begin from byte ``first`` to before ``last``."""
        for value in self.objects(file, first, last):
            yield from self.records_of(value)

    def records_of(self, value: dict[str, Any] | Malformed) -> Iterator[Record]:
        """The records of one value of a file, up to the first field that does not fit."""
        if isinstance(value, Malformed):
            yield value
            return
        # As read_records does; one generator less for each object counts here.
        try:
            yield from self.records(value)
        except FieldError as error:
            yield malformed(error, value)

    @abstractmethod
    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The records of one JSON object.

        Raises:
            FieldError: a field is not of the type that the format gives it.
        """

    def objects(
        self, file: Path, first: int = 0, last: int | None = None
    ) -> Iterator[dict[str, Any] | Malformed]:
        """The JSON objects of one file or range of lines; empty lines are skipped."""
        size = None if last is None else last - first

        def read(stream: InputFile, position: SourcePosition) -> Iterator[dict[str, Any] | Malformed]:
            return json_values(stream, position, self.decoder, size, first > 0)

        return self.values_of(file, read, first, last)


def first_objects(path: Path) -> list[dict[str, Any]]:
    """The JSON objects among a file's first values; of a file that is one object with a list, the list's."""
    read = json_items if has_items(path) else json_values
    with InputFile(path) as stream:
        return [value for value in islice(read(stream, SourcePosition()), FIRST) if isinstance(value, dict)]
