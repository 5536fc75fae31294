"""Parses the body of a draft, which may be large, at a cost that its size alone bounds."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import Request

from cocite.errors import InputError

Model = TypeVar("Model", bound=BaseModel)

_FIELDS = 100
"""Fields of the request, or of a value of a list in it, whose values are looked at."""


async def read_draft(request: Request, most: int, model: type[Model]) -> Model:
    """Read the body of a request, and parse it as :func:`parse_draft` does; the body is not kept."""
    body = b"".join([part async for part in request.stream()])
    return parse_draft(body, request.headers.get("content-type", ""), most, model)


def parse_draft(body: bytes, media_type: str, most: int, model: type[Model]) -> Model:
    """The request in a body.

    A list of millions of wrong values would keep the gateway busy for a minute, with an error for each of them: what
    is too long is refused before its values are looked at.

    Args:
        body: of the request.
        media_type: of the body.
        most: values that a field may have, and the objects of a list in it together.
        model: of the request.

    Raises:
        InputError: it is no JSON object, or has too many values.
        RequestValidationError: a field does not fit.

    Example:
        >>> from cocite_serve.http.draft_schemas import DraftRequest
        >>> body = b'{"files": [{"name": "a.txt", "text": "We."}]}'
        >>> parse_draft(body, "application/json", 500, DraftRequest).files[0].name
        'a.txt'
    """
    kind = media_type.partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    try:
        value = from_json(body) if is_json else None
    except ValueError as error:
        raise InputError(f"the body is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError("the body must be a JSON object, sent as Content-Type: application/json")
    _check_lengths(value, most)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error


def _check_lengths(value: dict[str, Any], most: int) -> None:
    if len(value) > _FIELDS:
        raise InputError(f"the body may have at most {_FIELDS} fields, got {len(value):,}")
    for name, part in value.items():
        if isinstance(part, list | dict) and len(part) > most:
            raise InputError(f"at most {most:,} values are allowed, got {len(part):,}", where=name[:100])
        inner = 0
        for number, one in enumerate(part if isinstance(part, list) else ()):
            if not isinstance(one, dict):
                continue
            where = f"{name[:100]}.{number}"
            if len(one) > _FIELDS:
                raise InputError(f"at most {_FIELDS} fields are allowed, got {len(one):,}", where=where)
            inner += sum(len(each) for each in one.values() if isinstance(each, list | dict))
            if inner > most:
                raise InputError(f"at most {most:,} values within it are allowed", where=name[:100])
