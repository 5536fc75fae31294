"""Reads the values of an object's fields by the types that a format gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WHOLE = re.compile(r"\s*-?[0-9]{1,18}\s*")
_TYPES = {"NoneType": "absent", "bool": "true or false", "dict": "an object", "list": "a list"}
_MIN, _MAX = -(1 << 31), (1 << 31) - 1


class FieldError(ValueError):
    """A field whose value is not of the type that the format gives it.

    Args:
        field: its name.
        expected: what the value must be.
        value: what it is.

    Example:
        >>> from cocite.corpus.importers.values import FieldError, integer
        >>> try:
        ...     integer({"year": [1999]}, "year")
        ... except FieldError as error:
        ...     print(error.field, "-", error)
        year - year must be a whole number, not a list
    """

    def __init__(self, field: str, expected: str, value: object) -> None:
        shown = _TYPES.get(type(value).__name__) or (repr(value) if len(repr(value)) < 80 else "longer text")
        super().__init__(f"{field} must be {expected}, not {shown}")
        self.field = field


def text(value: Mapping[str, Any], *names: str) -> str:
    """The text of the first of some fields that is present; empty when none is.

    Numbers are written out, and ``null`` counts as absent.
    """
    for name in names:
        given = value.get(name)
        if given is None:
            continue
        if isinstance(given, str):
            return given
        if isinstance(given, int | float) and not isinstance(given, bool):
            return str(given)
        raise FieldError(name, "text", given)
    return ""


def integer(value: Mapping[str, Any], name: str, default: int = 0) -> int:
    """A whole number, or text that holds one, cut to the range of int32."""
    given = value.get(name)
    if given is None or (isinstance(given, str) and not given.strip()):
        return default
    is_whole = (
        (isinstance(given, int) and not isinstance(given, bool))
        or (isinstance(given, float) and given.is_integer())
        or (isinstance(given, str) and _WHOLE.fullmatch(given))
    )
    if not is_whole:
        raise FieldError(name, "a whole number", given)
    return max(_MIN, min(int(given), _MAX))


def objects(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of JSON objects; empty when absent."""
    given = value.get(name)
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise FieldError(name, "a list of objects", given)
    return given


def mapping(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A JSON object; empty when absent."""
    given = value.get(name)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise FieldError(name, "an object", given)
    return given


def texts(value: Mapping[str, Any], name: str, key: str = "name") -> tuple[str, ...]:
    """A list of texts or numbers, or of objects that hold the text under ``key``; empty when absent."""
    given = value.get(name)
    if given is None:
        return ()
    if not isinstance(given, list):
        raise FieldError(name, "a list", given)
    result = []
    for item in given:
        if isinstance(item, dict):
            item = item.get(key) or ""
        if item is None:
            continue
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise FieldError(name, "a list of texts", item)
        result.append(str(item))
    return tuple(result)
