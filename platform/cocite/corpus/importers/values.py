"""Reads the values of an object's fields by the types that a format gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_DOI_PREFIX = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)
_WHOLE = re.compile(r"\s*-?[0-9]{1,18}\s*")
_TYPES = {"NoneType": "absent", "bool": "true or false", "dict": "an object", "list": "a list"}
_TITLE_ID = 500
"""Characters of a title in an id that is made of it."""
MIN_INT, MAX_INT = -(1 << 31), (1 << 31) - 1
"""What whole numbers are cut to."""


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
        raw = value.get(name)
        if raw is None:
            continue
        if isinstance(raw, str):
            return raw
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            return str(raw)
        raise FieldError(name, "text", raw)
    return ""


def bare_doi(doi: str) -> str:
    """A DOI without the address or the word before it.

    Example:
        >>> bare_doi("https://doi.org/10.1000/182")
        '10.1000/182'
    """
    return _DOI_PREFIX.sub("", doi.strip())


def title_id(title: str, year: int) -> str:
    """The id of a reference that has none: title and year; empty without a title.

    Example:
        >>> title_id("On BERT", 2019), title_id("On BERT", 0)
        ('On BERT (2019)', 'On BERT')
    """
    return f"{title[:_TITLE_ID]} ({year})" if title and year else title[:_TITLE_ID]


def integer(value: Mapping[str, Any], name: str, default: int = 0) -> int:
    """A whole number, or text that holds one, cut to the range of int32."""
    raw = value.get(name)
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return default
    is_whole = (
        (isinstance(raw, int) and not isinstance(raw, bool))
        or (isinstance(raw, float) and raw.is_integer())
        or (isinstance(raw, str) and _WHOLE.fullmatch(raw))
    )
    if not is_whole:
        raise FieldError(name, "a whole number", raw)
    return max(MIN_INT, min(int(raw), MAX_INT))


def objects(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of JSON objects; empty when absent."""
    raw = value.get(name)
    if raw is None:
        return []
    if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
        raise FieldError(name, "a list of objects", raw)
    return raw


def mapping(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A JSON object; empty when absent."""
    raw = value.get(name)
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise FieldError(name, "an object", raw)
    return raw


def texts(value: Mapping[str, Any], name: str, key: str = "name") -> tuple[str, ...]:
    """A list of texts or numbers, or of objects that hold the text under ``key``; empty when absent."""
    raw = value.get(name)
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise FieldError(name, "a list", raw)
    result = []
    for item in raw:
        if isinstance(item, dict):
            item = item.get(key) or ""
        if item is None:
            continue
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise FieldError(name, "a list of texts", item)
        result.append(str(item))
    return tuple(result)
