"""What the API's description says beyond the routes: every status that a path can answer, and the limits in force."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from cocite_serve.http.draft_schemas import DraftFinishRequest, DraftRequest
from cocite_serve.http.draft_text_schemas import DraftTextRequest
from cocite_serve.http.problem_body import MEDIA_TYPE
from cocite_serve.http.problems import STATUS_DESCRIPTIONS
from cocite_serve.http.schemas import Problem
from cocite_serve.settings import Limits

FRAMEWORKS = "HTTPValidationError"
ALWAYS = (400, 401, 403, 408, 413, 429, 500, 503)
"""Statuses that any path can answer: they are found out before the path is looked at, or behind all of them."""
# Of single paths; those that any path can answer are described where they are made.
DESCRIPTIONS = {
    410: "The page is of versions that are not served any more; ask again without `page`.",
    415: "The body's media type is none that is read here.",
} | STATUS_DESCRIPTIONS


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a path, for FastAPI's ``responses``: those that any path has, and some more.

    Example:
        >>> sorted(refusals(404))
        [400, 401, 403, 404, 408, 413, 429, 500, 503]
    """
    problem = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    result: dict[int | str, dict[str, Any]] = {
        status: {"description": DESCRIPTIONS[status], "content": dict(problem)}
        for status in sorted({*ALWAYS, *statuses})
    }
    result[400]["content"]["text/plain"] = {"schema": {"type": "string"}}
    for status in (429, 503):
        result[status]["headers"] = {
            "Retry-After": {
                "description": "Seconds after which to try again.",
                "schema": {"type": "integer", "minimum": 0},
            }
        }
    return result


def describe_exactly(app: FastAPI, limits: Limits) -> None:
    """Let an application's description name the limits in force, and the schema of refusals."""
    original = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            description = original()
            schemas = description["components"]["schemas"]
            # No route has these as a parameter or an answer.
            for model in (Problem, DraftRequest, DraftTextRequest, DraftFinishRequest):
                _add(schemas, model)
            _leave_out_the_frameworks(description)
            for schema, name, bounds in _bounds(limits):
                if name in schemas.get(schema, {}).get("properties", {}):
                    _narrow(schemas[schema]["properties"][name], bounds)
            app.openapi_schema = description
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _add(schemas: dict[str, Any], model: type[BaseModel]) -> None:
    """Add the schema of a model, and those that it consists of."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    for name, one in {**schema.pop("$defs", {}), model.__name__: schema}.items():
        one["description"] = one["description"].partition("\f")[0]
        schemas[name] = one


def _leave_out_the_frameworks(description: dict[str, Any]) -> None:
    """Take out FastAPI's own refusal, which no path answers; where values can be refused, the path tells of it."""
    for operations in description["paths"].values():
        for operation in operations.values():
            if FRAMEWORKS in str(operation["responses"].get("422", {}).get("content")):
                del operation["responses"]["422"]
    for schema in (FRAMEWORKS, "ValidationError"):
        description["components"]["schemas"].pop(schema, None)


def _bounds(limits: Limits) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Schema, property, and its bounds; those under ``items`` are of the items."""
    values = {"maxItems": limits.exclude, "items": {"maxLength": limits.title_chars}}
    seeds = values | {"maxItems": limits.seeds}
    texts = {"maxItems": limits.texts, "items": {"maxLength": limits.text_chars}}
    of_query: dict[str, dict[str, Any]] = {
        "title": {"maxLength": limits.title_chars},
        "abstract": {"maxLength": limits.abstract_chars},
        "context": {"maxLength": limits.text_chars},
        "text": {"maxLength": limits.text_chars},
        "venue": {"maxLength": limits.title_chars},
        "authors": values,
    }
    of_recommend: dict[str, dict[str, Any]] = {
        "like": seeds,
        "dislike": seeds,
        "have": values | {"maxItems": limits.have},
        "exclude": values,
        "exclude_authors": values,
        "top_k": {"maximum": limits.top_k},
        "depth": {"maximum": limits.depth},
        "K": {"maximum": limits.depth},
        "rerank": {"maximum": limits.rerank},
        "retrievers": {"maxItems": limits.weights},
        "weights": {"maxProperties": limits.weights},
    }
    of_texts: dict[str, dict[str, Any]] = {"ids": {"maxItems": limits.texts}, "texts": texts}
    of_text: dict[str, dict[str, Any]] = {
        name: {"maxLength": limits.text_chars} for name in ("title", "abstract", "context")
    }
    for schema, properties in (
        ("RecommendRequest", of_query | of_recommend),
        ("DraftRequest", of_recommend | {name: of_query[name] for name in ("authors", "venue")}),
        ("DraftFinishRequest", {"chosen": {"maxItems": limits.draft_gaps}}),
        ("GapChoice", {"papers": {"items": {"maxLength": limits.title_chars}}}),
        ("RerankRequest", of_query | of_texts),
        ("EmbedRequest", of_texts),
        ("EmbedText", of_text),
        ("LinksRequest", {"ids": values | {"maxItems": limits.links}}),
    ):
        for name, bounds in properties.items():
            yield schema, name, bounds


def _narrow(schema: dict[str, Any], bounds: dict[str, Any]) -> None:
    """Add bounds to a property's schema; of alternatives, to those of a string, a number or a list."""
    if "anyOf" in schema:
        for option in schema["anyOf"]:
            if option.get("type") in ("string", "integer", "array"):
                _narrow(option, bounds)
        return
    for key, value in bounds.items():
        if key == "items":
            _narrow(schema["items"], value)
        else:
            schema[key] = value
