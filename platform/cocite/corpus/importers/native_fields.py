"""Reads the fields of cocite's own records by their definition in :mod:`cocite.corpus.fields`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cocite.corpus.fields import NESTED, RECORDS
from cocite.corpus.importers.values import MAX_INT, MIN_INT, FieldError, integer, text
from cocite.corpus.records import SPLITS, TARGET_MARK, ContextRecord

FIELDS = RECORDS | NESTED
REQUIRED = {
    kind: [(name, field.type) for name, field in fields.items() if field.required]
    for kind, fields in FIELDS.items()
}
OWN = {"id", "text"}
"""Types of the fields that a record has of its own, unlike references to papers."""


def read_fields(kind: str, value: Mapping[str, Any], unknown: list[str]) -> dict[str, Any]:
    """The fields that an object has, read by their types.

    Args:
        kind: one of ``RECORDS`` or ``NESTED``.
        value: the object; a field that is null counts as absent.
        unknown: a list that the names are added to.

    Raises:
        FieldError: a field is not of its type, or one is missing that is required and for which there is no rule.

    Example:
        >>> from cocite.corpus.importers.native_fields import read_fields
        >>> unknown = []
        >>> read_fields("citation", {"citing": 7, "cited": ["8", {"id": "9"}], "weight": 0.5}, unknown)
        {'citing': '7', 'cited': ('8', '9')}
        >>> unknown
        ['weight']
    """
    readers = _READERS_OF[kind]
    result: dict[str, Any] = {}
    for name, raw in value.items():
        reader = readers.get(name)
        if reader is None:
            unknown.append(name)
        elif raw is not None:
            read = reader(raw, name, unknown)
            if read is not None:
                result[name] = read
    for name, type_ in REQUIRED[kind]:
        if name not in result:
            # A missing text or id of the record itself breaks a rule of its own, such as empty_title.
            result[name] = "" if type_ in OWN else _reference(None, name, unknown)
    return result


def context_of(fields: dict[str, Any]) -> ContextRecord:
    """A context from its fields, where ``[CIT]`` marks the gap as ``TARGETCIT`` does."""
    return ContextRecord(text=fields.pop("context").replace("[CIT]", TARGET_MARK), **fields)


# -- readers of the types of fields ---------------------------------------------------------------------------


def _text(raw: Any, name: str, _: list[str]) -> str:
    return raw if isinstance(raw, str) else text({name: raw}, name)


def _reference(raw: Any, name: str, unknown: list[str]) -> str:
    id_ = "" if raw is None else _text(raw, name, unknown)
    if not id_ or id_.isspace():
        raise FieldError(name, "an id", raw)
    return id_


def _one_or_more(raw: Any, name: str, unknown: list[str]) -> tuple[str, ...]:
    if not isinstance(raw, list):
        return (_reference(raw, name, unknown),)
    ids = _items(raw, name, unknown)
    if not ids or len(ids) < len(raw) or not all(map(str.strip, ids)):
        raise FieldError(name, "one or more ids", raw)
    return ids


def _items(raw: Any, name: str, unknown: list[str]) -> tuple[str, ...]:
    """A list of texts or numbers, or of objects that hold them under the key of ``NESTED``."""
    if isinstance(raw, list) and set(map(type, raw)) <= {str}:
        return tuple(raw)
    key = next(iter(NESTED[name]))
    result = []
    for item in _list(raw, name, unknown):
        if isinstance(item, dict):
            if key not in item:
                raise FieldError(name, f"a list of texts or of objects with {key!r}", item)
            unknown.extend(f"{name}.{other}" for other in item if other != key)
            item = item[key]
        if item is not None:
            result.append(_text(item, name, unknown))
    return tuple(result)


def _list(raw: Any, name: str, _: list[str]) -> list[Any]:
    if not isinstance(raw, list):
        raise FieldError(name, "a list", raw)
    return raw


def _integer(raw: Any, name: str, _: list[str]) -> int | None:
    if type(raw) is int and MIN_INT <= raw <= MAX_INT:
        return raw
    blank = isinstance(raw, str) and not raw.strip()
    return None if blank else integer({name: raw}, name)


def _split(raw: Any, name: str, unknown: list[str]) -> str:
    split = _text(raw, name, unknown)
    if split not in SPLITS:
        raise FieldError(name, "train, dev or test", raw)
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
"""Type of a field -> the function that reads a value that is not null, from the value, the field's name and the list of
unknown names; it returns None for a value that counts as absent."""
_READERS_OF = {
    kind: {name: READERS[field.type] for name, field in fields.items()} for kind, fields in FIELDS.items()
}
"""Kind of object -> its fields' names -> what reads them."""
