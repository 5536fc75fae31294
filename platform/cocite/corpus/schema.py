"""The JSON Schema (draft 2020-12) of cocite's JSON lines, made from the definition of the fields."""

from __future__ import annotations

from typing import Any

from cocite.corpus.fields import NESTED, RECORDS, Field
from cocite.corpus.rules import Limits

FILLED: dict[str, Any] = {"type": ["string", "number"], "pattern": r"\S"}
"""A text that must be there; a number is written out as text."""
TEXT: dict[str, Any] = {"type": ["string", "number", "null"]}
_ID_LENGTH = {"maxLength": Limits().id}


def json_schema() -> dict[str, Any]:
    """The schema of one line: a paper, a context, a sentence or a citation, depending on its fields.

    An import keeps a record that fits whole. Rules over several records (repeated ids, citations of unknown papers)
    are not in the schema.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a corpus in cocite's JSON lines",
        "type": "object",
        "if": {"required": ["context"]},
        "then": {"$ref": "#/$defs/context"},
        "else": {
            "if": {"required": ["text", "paper"]},
            "then": {"$ref": "#/$defs/sentence"},
            "else": {
                "if": {"required": ["citing", "cited"]},
                "then": {"$ref": "#/$defs/citation"},
                "else": {"$ref": "#/$defs/paper"},
            },
        },
        "$defs": {kind: _object(fields) for kind, fields in RECORDS.items()},
    }


def _object(fields: dict[str, Field]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {"description": field.description, **_type(name, field)} for name, field in fields.items()
        },
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def _type(name: str, field: Field) -> dict[str, Any]:
    match field.type:
        case "id" | "text" | "reference":
            return (FILLED if field.required else TEXT) | (_ID_LENGTH if field.type == "id" else {})
        case "integer":
            digits = {"type": "string", "pattern": r"^\s*(-?[0-9]{1,18})?\s*$"}
            return {"anyOf": [{"type": ["integer", "null"]}, digits]}
        case "split":
            return {"enum": ["train", "dev", "test", "", None]}
        case "names":
            return _list(TEXT, _items(name, TEXT))
        case "references":
            optional = FILLED | TEXT
            return _list(optional, _items(name, optional))
        case "one or more references":
            several = {"type": "array", "minItems": 1, "items": {"anyOf": [FILLED, _items(name, FILLED)]}}
            return {"anyOf": [FILLED, several]}
        case "contexts":
            return _list(_context())
        case "sentences":
            return _list({"type": "string", "pattern": r"\S"}, _object(NESTED[name]))
    raise AssertionError(f"{field.type!r} has no schema")


def _list(*items: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": items[0] if len(items) == 1 else {"anyOf": list(items)}}


def _items(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """An object of a list that holds its text under one key."""
    key = next(iter(NESTED[name]))
    return {"type": "object", "properties": {key: value}, "required": [key], "additionalProperties": False}


def _context() -> dict[str, Any]:
    """A context within its paper, whose text may be called ``text`` as well."""
    schema = _object(NESTED["contexts"])
    schema["properties"]["text"] = schema["properties"]["context"]
    schema["required"].remove("context")
    schema["oneOf"] = [{"required": ["context"]}, {"required": ["text"]}]
    return schema
