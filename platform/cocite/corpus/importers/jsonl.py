"""cocite's own JSON lines: papers, contexts, sentences and citations, as ``docs/corpus-format.md`` describes them.

Which of the four a line is follows from its fields, which :mod:`cocite.corpus.fields` defines. A paper may carry its
own contexts and sentences. A field that is not defined is counted and otherwise passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cocite.corpus.fields import NESTED, RECORDS, kind_of
from cocite.corpus.importers.source import FieldError, JSONLines, excerpt, integer, text
from cocite.corpus.records import (
    SPLITS,
    TARGET_MARK,
    CitationRecord,
    ContextRecord,
    Malformed,
    PaperRecord,
    Record,
    SentenceRecord,
    UnknownFields,
)


class NativeJSONL(JSONLines):
    """Papers, contexts, sentences and citations, one a line, in any order."""

    format = "jsonl"

    def __init__(self, path: Path, files: list[Path] | None = None) -> None:
        super().__init__(path, files)
        self.decoder = json.JSONDecoder(object_pairs_hook=_distinct)
        self._unnamed = 0

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like one of this format."""
        return (
            ("id" in value and "title" in value)
            or ("citing" in value and "cited" in value)
            or "paper" in value
        )

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The records of one line."""
        kind = kind_of(value)
        unknown: list[str] = []
        if kind == "paper":
            yield from self._paper(value, unknown)
        elif kind == "context":
            yield self._context(read_fields(kind, value, unknown))
        elif kind == "sentence":
            yield SentenceRecord(**{"position": 0} | read_fields(kind, value, unknown))
        else:
            fields = read_fields(kind, value, unknown)
            for cited in fields["cited"]:
                yield CitationRecord(fields["citing"], cited)
        if unknown:
            yield UnknownFields(kind, tuple(unknown))

    def _paper(self, value: dict[str, Any], unknown: list[str]) -> Iterator[Record]:
        fields = read_fields("paper", value, unknown)
        contexts, sentences = fields.pop("contexts", ()), fields.pop("sentences", ())
        paper = PaperRecord(**fields)
        yield paper
        for item in contexts:
            # Within its paper a context may call its text so.
            if isinstance(item, dict) and "text" in item and "context" not in item:
                item = {"context" if name == "text" else name: found for name, found in item.items()}
            found = _nested("contexts", item, unknown)
            yield found if isinstance(found, Malformed) else self._context(found | {"citing": paper.id})
        for position, item in enumerate(sentences):
            if isinstance(item, str):
                yield SentenceRecord(paper.id, position, item)
                continue
            found = _nested("sentences", item, unknown)
            if isinstance(found, Malformed):
                yield found
            else:
                yield SentenceRecord(**{"paper": paper.id, "position": position, **found})

    def _context(self, fields: dict[str, Any]) -> ContextRecord:
        if not fields.get("id", "").strip():
            fields["id"] = f"{fields['citing']}/{self._unnamed}"
            self._unnamed += 1
        return context_record(fields)


def context_record(fields: dict[str, Any]) -> ContextRecord:
    """A context of the fields of one, by their names."""
    return ContextRecord(text=fields.pop("context").replace("[CIT]", TARGET_MARK), **fields)


def _nested(name: str, item: Any, unknown: list[str]) -> dict[str, Any] | Malformed:
    """The fields of an object within a paper; one that does not fit is left out by itself."""
    if not isinstance(item, dict):
        return Malformed(str(FieldError(name, "a list of objects", item)), name)
    names: list[str] = []
    try:
        fields = read_fields(name, item, names)
    except FieldError as error:
        return Malformed(f"{name}: {error}", f"{name}.{error.field}", excerpt=excerpt(item))
    unknown.extend(f"{name}.{field}" for field in names)
    return fields


def read_fields(kind: str, value: Mapping[str, Any], unknown: list[str]) -> dict[str, Any]:
    """The fields of an object that are given, by their types; the names of unknown ones are added to ``unknown``.

    Args:
        kind: one of ``RECORDS`` or ``NESTED``.
        value: the object; a field that is null counts as not given.
        unknown: takes the names.

    Raises:
        FieldError: a field is not of its type, or one is missing that is required and for which there is no rule.
    """
    fields = FIELDS[kind]
    result: dict[str, Any] = {}
    for name, found in value.items():
        field = fields.get(name)
        if field is None:
            unknown.append(name)
        elif found is not None:
            read = READERS[field.type](found, name, unknown)
            if read is not None:
                result[name] = read
    for name, type_ in REQUIRED[kind]:
        if name not in result:
            # What a record lacks of its own is found by a rule that has a name.
            result[name] = "" if type_ in OWN else _reference(None, name, unknown)
    return result


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} is given twice")
    return result


FIELDS = RECORDS | NESTED
REQUIRED = {
    kind: [(name, field.type) for name, field in fields.items() if field.required]
    for kind, fields in FIELDS.items()
}
OWN = {"id", "text"}
"""Types of what a record has of its own."""


# -- readers of the types of fields ---------------------------------------------------------------------------


def _text(found: Any, name: str, _: list[str]) -> str:
    return found if isinstance(found, str) else text({name: found}, name)


def _reference(found: Any, name: str, unknown: list[str]) -> str:
    id_ = "" if found is None else _text(found, name, unknown)
    if not id_ or id_.isspace():
        raise FieldError(name, "an id", found)
    return id_


def _one_or_more(found: Any, name: str, unknown: list[str]) -> tuple[str, ...]:
    if not isinstance(found, list):
        return (_reference(found, name, unknown),)
    ids = _items(found, name, unknown)
    if not ids or len(ids) < len(found) or not all(id_.strip() for id_ in ids):
        raise FieldError(name, "one or more ids", found)
    return ids


def _items(found: Any, name: str, unknown: list[str]) -> tuple[str, ...]:
    """A list of texts or numbers, or of objects that hold them under the key of ``NESTED``."""
    key = next(iter(NESTED[name]))
    result = []
    for item in _list(found, name, unknown):
        if isinstance(item, dict):
            if key not in item:
                raise FieldError(name, f"a list of texts or of objects with {key!r}", item)
            unknown.extend(f"{name}.{other}" for other in item if other != key)
            item = item[key]
        if item is not None:
            result.append(_text(item, name, unknown))
    return tuple(result)


def _list(found: Any, name: str, _: list[str]) -> list[Any]:
    if not isinstance(found, list):
        raise FieldError(name, "a list", found)
    return found


def _integer(found: Any, name: str, _: list[str]) -> int | None:
    blank = isinstance(found, str) and not found.strip()
    return None if blank else integer({name: found}, name)


def _split(found: Any, name: str, unknown: list[str]) -> str:
    split = _text(found, name, unknown)
    if split not in SPLITS:
        raise FieldError(name, "train, dev or test", found)
    return split


READERS: dict[str, Callable[[Any, str, list[str]], Any]] = {
    "id": _text,
    "text": _text,
    "reference": _reference,
    "integer": _integer,
    "split": _split,
    "names": _items,
    "references": _items,
    "one or more references": _one_or_more,
    "contexts": _list,
    "sentences": _list,
}
"""Type of a field -> what reads a value that is not null, given the field's name; ``None`` for not given."""
