"""Limits of requests, and every error as a status and one sentence that says what was wrong.

No ``from __future__ import annotations`` here: FastAPI reads this module.
"""

import logging
import math
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from cocite.errors import CociteError, InputError, NotFoundError, nearest
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_serve.failures import describe
from cocite_serve.http.draft_schemas import DraftRequest
from cocite_serve.http.full_notes import FULL_HEADER
from cocite_serve.http.option_fields import RecommendOptions
from cocite_serve.http.problem_body import overloaded as too_many
from cocite_serve.http.problem_body import problem
from cocite_serve.http.query_fields import QueryText
from cocite_serve.http.request_context import context_of
from cocite_serve.http.schemas import RecommendRequest
from cocite_serve.settings import Limits, ServeSettings

STATUS_DESCRIPTIONS = {
    400: "The request cannot be read.",
    401: "No API key that is known was sent, and this endpoint asks for one.",
    403: "The API key's role does not allow this path.",
    404: "No such paper or path.",
    408: "The body did not come within `limits.body_s` seconds.",
    413: "The body is larger than allowed.",
    422: "A field does not fit; `error` says which and why.",
    429: "The request would wait too long for others, or the API key's rate or quota is used up; try again after "
    "`Retry-After` seconds.",
    500: "A defect; the log has its traceback under the `request_id`.",
    503: "The stages are not ready or serve different versions, or a shard of the index did not answer.",
    504: "The request took longer than allowed.",
}
FAILED = "The server could not answer; the line of this request_id in its log (logs.folder: gateway-*.jsonl) says why."
"""Names the setting and not the folder: that may be somebody's home, which is nothing for strangers."""
LOG = logging.getLogger("ray.serve")


class OverloadedError(Exception):
    """A request would wait too long for others, or too many wait; the API responds 429.

    Attributes:
        retry_s: seconds after which it would be taken in, where they are known.
        full_s: seconds for which every replica would refuse one like it; 0: that is not known.

    Example:
        >>> raise OverloadedError("the reranker refused a request", retry_s=2.5)
        Traceback (most recent call last):
        ...
        cocite_serve.http.problems.OverloadedError: the reranker refused a request
    """

    def __init__(self, message: str = "", retry_s: float | None = None, full_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_s, self.full_s = retry_s, full_s

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.retry_s, self.full_s)


class TooSlowError(Exception):
    """A request took longer than it may; the API responds 504.

    Example:
        >>> raise TooSlowError(20.0)
        Traceback (most recent call last):
        ...
        cocite_serve.http.problems.TooSlowError: the request took longer than 20 s; a smaller depth or rerank is faster
    """

    def __init__(self, seconds: float, hint: str = "a smaller depth or rerank is faster") -> None:
        super().__init__(f"the request took longer than {seconds:g} s; {hint}")


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
    check_text(request, limits)
    check_options(request, limits, request.year)


def check_options(request: RecommendOptions, limits: Limits, year: int | None) -> None:
    """Refuse options above a limit, or that no paper fits.

    Args:
        request: the options.
        limits: in force.
        year: of the manuscript.

    Raises:
        InputError: names the first such field (``where``) and the limit.
    """
    for name in ("like", "dislike"):
        if (count := len(getattr(request, name))) > limits.seeds:
            raise InputError(f"at most {limits.seeds:,} papers are allowed, got {count:,}", where=name)
        check_lengths(getattr(request, name), name, limits)
    for name in ("exclude", "exclude_authors"):
        check_values(getattr(request, name), name, limits)
    if len(request.have) > limits.have:
        raise InputError(
            f"at most {limits.have:,} papers are allowed, got {len(request.have):,}", where="have"
        )
    check_lengths(request.have, "have", limits)
    for name in ("retrievers", "weights"):
        if (count := len(getattr(request, name))) > limits.weights:
            raise InputError(f"at most {limits.weights:,} signals are allowed, got {count:,}", where=name)
    for name, most in (
        ("top_k", limits.top_k),
        ("K", limits.depth),
        ("depth", limits.depth),
        ("rerank", limits.rerank),
    ):
        if (value := getattr(request, name) or 0) > most:
            raise InputError(f"at most {most:,} is allowed, got {value:,}", where=name)
    if request.year_from and request.year_to and request.year_from > request.year_to:
        raise InputError(f"{request.year_from} is later than year_to, {request.year_to}", where="year_from")
    limited = request.candidates == "older" and request.year_to is None
    if limited and request.year_from and year and request.year_from > year:
        raise InputError(
            f"{request.year_from} is later than the manuscript's year, {year}; "
            "give year_to, or candidates: all",
            where="year_from",
        )


def check_text(request: QueryText, limits: Limits) -> None:
    """Refuse a request whose text is above a limit.

    Raises:
        InputError: names the first such field (``where``) and the limit.
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
    check_values(request.authors, "authors", limits)


def check_values(values: list[str], name: str, limits: Limits) -> None:
    """Refuse a list of names or ids that is too long, or has a too long one."""
    if len(values) > limits.exclude:
        raise InputError(f"at most {limits.exclude:,} values are allowed, got {len(values):,}", where=name)
    check_lengths(values, name, limits)


def check_lengths(values: list[str], name: str, limits: Limits) -> None:
    """Refuse a list of names or ids that has a too long one."""
    if any(len(value) > limits.title_chars for value in values):
        raise InputError(f"a value may have at most {limits.title_chars:,} characters", where=name)


def log_defect(request: Request, error: Exception) -> str:
    """Note in the logs that a request met a defect; returns the id under which they have it."""
    context = context_of(request.scope)
    context.facts["error"] = describe(error)
    # An error's own words may quote the request: this log has its class alone, the gateway's the places too.
    LOG.error("request %s failed: %s", context.id, type(error).__qualname__)
    return context.id


def add_handlers(app: FastAPI, settings: ServeSettings) -> None:
    """Respond to every error of the application with a :class:`~cocite_serve.http.schemas.Problem`."""

    def failed(request: Request, error: Exception) -> Response:
        log_defect(request, error)
        return problem(request.scope, 500, FAILED)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return problem(request.scope, 422, *_describe(error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        text = {
            404: f"Nothing is served at {request.url.path}.",
            405: f"{request.method} is not possible at {request.url.path}.",
        }.get(error.status_code, str(error.detail))
        return problem(request.scope, error.status_code, text, headers=dict(error.headers or {}))

    @app.exception_handler(ShardsUnavailableError)
    async def incomplete(request: Request, error: ShardsUnavailableError) -> Response:
        after = {"Retry-After": str(settings.retry_after_s)}
        return problem(request.scope, 503, _capital(str(error)), None, after, "shards_unavailable")

    @app.exception_handler(CociteError)
    async def cocite(request: Request, error: CociteError) -> Response:
        if isinstance(error, NotFoundError):
            return problem(request.scope, 404, _capital(error.message), error.where)
        if isinstance(error, InputError):
            text = f"{error.where}: {error.message}" if error.where else _capital(error.message)
            return problem(request.scope, 422, text, error.where)
        # Its sentence may name files of the server, so the client does not get it.
        return failed(request, error)

    @app.exception_handler(OverloadedError)
    async def overloaded(request: Request, error: OverloadedError) -> Response:
        after = settings.retry_after_s if error.retry_s is None else max(1, math.ceil(error.retry_s))
        response = too_many(request.scope, after)
        if error.full_s:
            response.headers[FULL_HEADER] = f"{error.full_s:.3f}"
        return response

    @app.exception_handler(NotReadyError)
    async def not_ready(request: Request, error: NotReadyError) -> Response:
        return problem(
            request.scope, 503, _capital(str(error)), headers={"Retry-After": str(settings.retry_after_s)}
        )

    @app.exception_handler(TooSlowError)
    async def slow(request: Request, error: TooSlowError) -> Response:
        return problem(request.scope, 504, _capital(str(error)))

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> Response:
        return failed(request, error)


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
        hint = nearest(path[-1], [*RecommendRequest.model_fields, *DraftRequest.model_fields])
        return f"{field}: there is no such field ({hint})", field
    if kind == "missing":
        return f"{field}: is required" if field else "The request has no body", field
    message = error["msg"].removeprefix("Value error, ")
    return (f"{field}: {message[0].lower()}{message[1:]}" if field else message), field


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
