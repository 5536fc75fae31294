"""Limits of requests, and every error as a status and one sentence that says what was wrong.

No ``from __future__ import annotations`` here: FastAPI reads this module.
"""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from cocite.errors import CociteError, InputError, NotFoundError, nearest
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_serve.http.schemas import RecommendRequest
from cocite_serve.settings import Limits, ServeSettings

STATUS_DESCRIPTIONS = {
    404: "No such paper or path.",
    413: "The body is larger than allowed.",
    422: "A field does not fit; `error` says which and why.",
    429: "Too many requests are waiting; try again after `Retry-After` seconds.",
    503: "The stages are not ready or serve different versions, or a shard of the index did not answer.",
    504: "The request took longer than allowed.",
}
LOG = logging.getLogger("ray.serve")


class OverloadedError(Exception):
    """More requests wait for a stage than may; the API responds 429.

    Example:
        >>> raise OverloadedError("64 requests wait for the reranker")
        Traceback (most recent call last):
        ...
        cocite_serve.http.problems.OverloadedError: 64 requests wait for the reranker
    """


class NotReadyError(Exception):
    """A stage is not loaded, or a request met stages of different versions; the API responds 503.

    Example:
        >>> raise NotReadyError("no stages are loaded")
        Traceback (most recent call last):
        ...
        cocite_serve.http.problems.NotReadyError: no stages are loaded
    """


def check_limits(request: RecommendRequest, limits: Limits) -> None:
    """Refuse a request with a field above its limit.

    Raises:
        InputError: names the first such field (``where``) and the limit.

    Example:
        >>> check_limits(RecommendRequest(title="x", top_k=31), Limits(top_k=30))
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: top_k: at most 30 is allowed, got 31
    """
    lengths = {
        "title": limits.title_chars,
        "abstract": limits.abstract_chars,
        "context": limits.text_chars,
        "text": limits.text_chars,
        "venue": limits.title_chars,
    }
    for name, most in lengths.items():
        if (length := len(getattr(request, name))) > most:
            raise InputError(f"at most {most:,} characters are allowed, got {length:,}", where=name)
    for name in ("exclude", "exclude_authors", "authors"):
        values = getattr(request, name)
        if len(values) > limits.exclude:
            raise InputError(
                f"at most {limits.exclude:,} values are allowed, got {len(values):,}", where=name
            )
        if any(len(value) > limits.title_chars for value in values):
            raise InputError(f"a value may have at most {limits.title_chars:,} characters", where=name)
    for name, most in (("top_k", limits.top_k), ("depth", limits.depth), ("rerank", limits.rerank)):
        if (value := getattr(request, name) or 0) > most:
            raise InputError(f"at most {most:,} is allowed, got {value:,}", where=name)
    if request.year_from and request.year_to and request.year_from > request.year_to:
        raise InputError(f"{request.year_from} is later than year_to, {request.year_to}", where="year_from")
    limited = request.candidates == "older" and request.year_to is None
    if limited and request.year_from and request.year and request.year_from > request.year:
        raise InputError(
            f"{request.year_from} is later than the manuscript's year, {request.year}; "
            "give year_to, or candidates: all",
            where="year_from",
        )


def add_handlers(app: FastAPI, settings: ServeSettings) -> None:
    """Respond to every error of the application with a :class:`~cocite_serve.http.schemas.Problem`."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return _problem(422, *_describe(error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        text = {
            404: f"Nothing is served at {request.url.path}.",
            405: f"{request.method} is not possible at {request.url.path}.",
        }.get(error.status_code, str(error.detail))
        return _problem(error.status_code, text, headers=dict(error.headers or {}))

    @app.exception_handler(ShardsUnavailableError)
    async def incomplete(_: Request, error: ShardsUnavailableError) -> JSONResponse:
        return _problem(503, _capital(str(error)), headers={"Retry-After": str(settings.retry_after_s)})

    @app.exception_handler(CociteError)
    async def cocite(_: Request, error: CociteError) -> JSONResponse:
        if isinstance(error, NotFoundError):
            return _problem(404, _capital(error.message), error.where)
        if isinstance(error, InputError):
            text = f"{error.where}: {error.message}" if error.where else _capital(error.message)
            return _problem(422, text, error.where)
        # Its sentence may name files of the server, so the client does not get it.
        LOG.error("a request failed: %s", error)
        return _problem(500, "The server could not answer; its log says why.")

    @app.exception_handler(OverloadedError)
    async def overloaded(_: Request, error: OverloadedError) -> JSONResponse:  # noqa: ARG001
        after = settings.retry_after_s
        text = f"Too many requests are waiting; try again in {after} second{'' if after == 1 else 's'}."
        return _problem(429, text, headers={"Retry-After": str(after)})

    @app.exception_handler(NotReadyError)
    async def not_ready(_: Request, error: NotReadyError) -> JSONResponse:
        return _problem(503, _capital(str(error)), headers={"Retry-After": str(settings.retry_after_s)})

    @app.exception_handler(TimeoutError)
    async def slow(_: Request, error: TimeoutError) -> JSONResponse:  # noqa: ARG001
        return _problem(
            504,
            f"The request took longer than {settings.request_timeout_s:g} s; a smaller depth or rerank is faster.",
        )

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> JSONResponse:
        LOG.error("defect while answering %s", request.url.path, exc_info=error)
        return _problem(500, "The server could not answer; its log says why.")


def _problem(
    status: int, error: str, field: str | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    text = error if error.endswith((".", "?", "!")) else error + "."
    return JSONResponse({"error": text, "field": field}, status, headers=headers)


def _describe(error: dict[str, Any]) -> tuple[str, str | None]:
    """A pydantic error as a sentence, and the field it is about."""
    path = [str(part) for part in error["loc"] if part != "body"]
    field = ".".join(path) or None
    kind = error["type"]
    if kind == "json_invalid":
        return f"The body is not valid JSON: {error.get('ctx', {}).get('error', 'it cannot be parsed')}", None
    if not path and kind in ("model_attributes_type", "model_type", "dict_type"):
        return "The body must be a JSON object, sent as Content-Type: application/json", None
    if kind == "extra_forbidden":
        hint = nearest(path[-1], [*RecommendRequest.model_fields, "K"])
        return f"{field}: there is no such field ({hint})", field
    if kind == "missing":
        return f"{field}: is required" if field else "The request has no body", field
    message = error["msg"].removeprefix("Value error, ")
    return (f"{field}: {message[0].lower()}{message[1:]}" if field else message), field


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
