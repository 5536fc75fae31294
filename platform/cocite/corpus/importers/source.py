"""What importers share: a source with its place, files of JSON objects, and fields of JSON objects."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cocite.corpus.importers.files import InputFile, data_files, unread_files
from cocite.corpus.importers.json_values import json_values
from cocite.corpus.records import Malformed, Record
from cocite.corpus.rules import Place
from cocite.errors import InputError

FIRST = 20
"""Values at a file's beginning that its format is recognised by."""
_WHOLE = re.compile(r"\s*-?[0-9]{1,18}\s*")
_TYPES = {"NoneType": "absent", "bool": "true or false", "dict": "an object", "list": "a list"}


class Source(ABC):
    """A stream of records that knows where it is.

    Attributes:
        path: the file or folder.
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

    def unread(self, files: list[Path]) -> Iterator[Malformed]:
        """One hit of a rule for each file of the folder that is not among those read."""
        for file in unread_files(self.path, files):
            self.place.file, self.place.line = str(file.relative_to(self.path)), 0
            yield Malformed("the file is not read", rule="unread_file")


class FieldError(ValueError):
    """A field that is not of the type its format gives it."""

    def __init__(self, field: str, expected: str, value: object) -> None:
        shown = _TYPES.get(type(value).__name__) or (repr(value) if len(repr(value)) < 80 else "longer text")
        super().__init__(f"{field} must be {expected}, not {shown}")
        self.field = field


class JSONLines(Source):
    """A source of JSON objects in one or several files: one a line, elements of arrays, or whole documents."""

    decoder = json.JSONDecoder()

    def __init__(self, path: Path, files: list[Path] | None = None) -> None:
        super().__init__(path)
        self.files = data_files(path) if files is None else files
        if not self.files:
            raise InputError("holds no .jsonl or .json file", where=str(path))
        self.total = sum(file.stat().st_size for file in self.files)

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        yield from self.unread(self.files)
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
                yield Malformed(str(error), error.field, excerpt=excerpt(value))

    @abstractmethod
    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The records of one JSON object; raises :class:`FieldError` for one that does not fit the format."""

    def objects(self, file: Path) -> Iterator[dict[str, Any] | Malformed]:
        """The JSON objects of one file; empty lines are passed over."""
        self.place.file = str(file.relative_to(self.path)) if file != self.path else file.name
        before = self.done
        with InputFile(file) as stream:
            for value in json_values(stream, self.place, self.decoder):
                self.done = before + stream.position
                yield value
        self.done = before + file.stat().st_size


def first_objects(path: Path) -> list[dict[str, Any]]:
    """The JSON objects among a file's first values."""
    with InputFile(path) as stream:
        return [value for value in islice(json_values(stream, Place()), FIRST) if isinstance(value, dict)]


def excerpt(value: object) -> str:
    """The beginning of an object, to recognise it by."""
    return json.dumps(value)[:200]


# -- fields -------------------------------------------------------------------------------------------------


def text(value: Mapping[str, Any], *names: str) -> str:
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


def integer(value: Mapping[str, Any], name: str, default: int = 0) -> int:
    """A whole number, or text that holds one."""
    found = value.get(name)
    if found is None:
        return default
    if isinstance(found, bool):
        raise FieldError(name, "a whole number", found)
    if isinstance(found, int):
        return max(-(1 << 31), min(found, (1 << 31) - 1))
    if isinstance(found, float) and found.is_integer():
        return max(-(1 << 31), min(int(found), (1 << 31) - 1))
    if isinstance(found, str) and not found.strip():
        return default
    if isinstance(found, str) and _WHOLE.fullmatch(found):
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
