"""What importers share: files, lines, and fields of JSON objects."""

from __future__ import annotations

import gzip
import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from cocite.corpus.records import Malformed, Record
from cocite.corpus.rules import Place
from cocite.errors import InputError

MAX_LINE = 64 << 20
"""Bytes of the longest line read; a full text takes a few millions."""
SUFFIXES = (".jsonl", ".json", ".ndjson", ".bib")


class Source(ABC):
    """A stream of records that knows where it is.

    Attributes:
        place: file and line of the record last yielded.
        total: bytes to read in all, 0 when unknown.
        done: bytes read so far.
    """

    format: str

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.place = Place()
        self.total = 0
        self.done = 0

    @abstractmethod
    def __iter__(self) -> Iterator[Record]:
        """The records, from the beginning."""


class FieldError(ValueError):
    """A field that is not of the type its format gives it."""

    def __init__(self, field: str, expected: str, value: object) -> None:
        super().__init__(f"{field} must be {expected}, not {type(value).__name__}")
        self.field = field


class JSONLines(Source):
    """A source of JSON objects, one a line, in one or several files."""

    def __init__(self, path: Path, files: list[Path] | None = None) -> None:
        super().__init__(path)
        self.files = data_files(path) if files is None else files
        if not self.files:
            raise InputError("holds no .jsonl or .json file", where=str(path))
        self.total = sum(file.stat().st_size for file in self.files)

    def __iter__(self) -> Iterator[Record]:
        for file in self.files:
            yield from self.read(file)

    def read(self, file: Path) -> Iterator[Record]:
        """The records of one file."""
        for value in self.objects(file):
            if isinstance(value, Malformed):
                yield value
                continue
            try:
                yield from self.records(value)
            except FieldError as error:
                yield Malformed(str(error), error.field, excerpt=_excerpt(value))

    @abstractmethod
    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The records of one JSON object; raises :class:`FieldError` for one that does not fit the format."""

    def objects(self, file: Path) -> Iterator[dict[str, Any] | Malformed]:
        """The JSON objects of one file; empty lines are passed over."""
        self.place.file = file.name
        self.place.line = 0
        before = self.done
        with file.open("rb") as raw:
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if is_gzip(file) else cast(BinaryIO, raw)
            while True:
                self.place.line += 1
                try:
                    line = stream.readline(MAX_LINE)
                except (EOFError, zlib.error, OSError) as error:
                    yield Malformed(f"the compressed file is damaged or cut short: {error}")
                    break
                if not line:
                    break
                self.done = before + raw.tell()
                if len(line) == MAX_LINE and not line.endswith(b"\n"):
                    while len(line) == MAX_LINE and not line.endswith(b"\n"):
                        line = stream.readline(MAX_LINE)
                    yield Malformed(f"the line is longer than {MAX_LINE >> 20} MiB")
                    continue
                if line.strip():
                    yield parse(line)


def parse(line: bytes) -> dict[str, Any] | Malformed:
    """One line of JSON. Bytes that are not UTF-8 become lone surrogates, which the Unicode rule finds later."""
    text = line.decode("utf-8-sig", "surrogateescape")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Malformed(f"not valid JSON: {error or 'too deep'}", excerpt=text[:200])
    if not isinstance(value, dict):
        return Malformed(f"a JSON object is expected, not {type(value).__name__}", excerpt=text[:200])
    return value


def is_gzip(path: Path) -> bool:
    """Whether a file is gzipped, by its first bytes."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def data_files(path: Path) -> list[Path]:
    """The files of a source: itself, or those in the folder and its subfolders whose names fit, in order."""
    if not path.is_dir():
        return [path]
    found = (p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    return sorted(p for p in found if p.name.removesuffix(".gz").endswith(SUFFIXES) or p.suffix == ".gz")


def first_object(path: Path) -> dict[str, Any] | None:
    """The first JSON object among a file's first lines, if there is one."""
    with path.open("rb") as raw:
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if is_gzip(path) else cast(BinaryIO, raw)
        for _ in range(20):
            try:
                line = stream.readline(MAX_LINE)
            except (EOFError, zlib.error, OSError):
                return None
            if not line:
                return None
            value = parse(line)
            if isinstance(value, dict):
                return value
    return None


# -- fields -------------------------------------------------------------------------------------------------


def text(value: dict[str, Any], *names: str) -> str:
    """The first of some fields that is given, as text; numbers are written out, ``null`` counts as not given."""
    for name in names:
        found = value.get(name)
        if found is None:
            continue
        if isinstance(found, str):
            return found
        if isinstance(found, int | float) and not isinstance(found, bool):
            return str(found)
        raise FieldError(name, "text", found)
    return ""


def integer(value: dict[str, Any], name: str, default: int = 0) -> int:
    """A whole number, or text that holds one."""
    found = value.get(name)
    if found is None or found == "":
        return default
    if isinstance(found, bool):
        raise FieldError(name, "a whole number", found)
    if isinstance(found, int):
        return max(-(1 << 31), min(found, (1 << 31) - 1))
    if isinstance(found, float) and found.is_integer():
        return max(-(1 << 31), min(int(found), (1 << 31) - 1))
    if isinstance(found, str) and found.strip().lstrip("-").isdecimal() and len(found) < 20:
        return max(-(1 << 31), min(int(found), (1 << 31) - 1))
    raise FieldError(name, "a whole number", found)


def objects(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of JSON objects."""
    found = value.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise FieldError(name, "a list of objects", found)
    return found


def mapping(value: dict[str, Any], name: str) -> dict[str, Any]:
    """A JSON object; empty when not given."""
    found = value.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise FieldError(name, "an object", found)
    return found


def texts(value: dict[str, Any], name: str, key: str = "name") -> tuple[str, ...]:
    """A list of texts or numbers, or of objects that hold the text under ``key``."""
    found = value.get(name)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise FieldError(name, "a list", found)
    result = []
    for item in found:
        if isinstance(item, dict):
            item = item.get(key) or ""
        if item is None:
            continue
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise FieldError(name, "a list of texts", item)
        result.append(str(item))
    return tuple(result)


def _excerpt(value: dict[str, Any]) -> str:
    return json.dumps(value)[:200]
