"""The body of a refusal: problem details as RFC 9457 has them, ``application/problem+json``."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import quote

from starlette.responses import JSONResponse
from starlette.types import Scope

from cocite_serve.http.metrics import REASON, reason_of
from cocite_serve.http.request_context import HEADER, context_of

MEDIA_TYPE = "application/problem+json"


def problem(
    scope: Scope,
    status: int,
    error: str,
    field: str | None = None,
    headers: Mapping[str, str] | None = None,
    reason: str | None = None,
) -> JSONResponse:
    """The response that refuses a request.

    Args:
        scope: of the request.
        status: of the response.
        error: one sentence for the client.
        field: of the request that is at fault.
        headers: of the response.
        reason: what metrics call it, where the status does not say it.

    Example:
        >>> scope = {"type": "http", "path": "/v1/recommend", "headers": [(b"x-request-id", b"5f0c")]}
        >>> print(problem(scope, 422, "top_k: at most 100 is allowed", "top_k").body.decode())
        {"type":"about:blank","title":"Unprocessable Content","status":422,"detail":"top_k: at most 100 is allowed.","instance":"/v1/recommend#5f0c","error":"top_k: at most 100 is allowed.","field":"top_k","reason":"invalid","request_id":"5f0c"}
    """  # noqa: E501
    text = error if error.endswith((".", "?", "!")) else error + "."
    id = context_of(scope).id
    if reason is not None:
        scope[REASON] = reason
    body = {
        # RFC 9457, 4.2.1: no more is meant than the status; `reason` tells kinds of one status apart.
        "type": "about:blank",
        "title": phrase(status),
        "status": status,
        "detail": text,
        "instance": f"{quote(scope['path'])}#{quote(id)}",
        "error": text,
        "field": field,
        "reason": scope.get(REASON) or reason_of(status),
        "request_id": id,
    }
    return JSONResponse(body, status, headers={**(headers or {}), HEADER: id}, media_type=MEDIA_TYPE)


def overloaded(scope: Scope, after: int) -> JSONResponse:
    """The response that refuses a request because too many others wait.

    Args:
        scope: of the request.
        after: seconds after which to try again.

    Example:
        >>> overloaded({"type": "http", "path": "/v1/recommend", "headers": []}, 1).headers["retry-after"]
        '1'
    """
    text = f"Too many requests are waiting; try again in {after} second{'' if after == 1 else 's'}."
    return problem(scope, 429, text, headers={"Retry-After": str(after)})


def phrase(status: int) -> str:
    """The name of a status, as RFC 9110 has it.

    Example:
        >>> phrase(413), phrase(422), phrase(429)
        ('Content Too Large', 'Unprocessable Content', 'Too Many Requests')
    """
    # Python 3.11 has the older names of these two.
    newer = {413: "Content Too Large", 422: "Unprocessable Content"}
    return newer.get(status) or HTTPStatus(status).phrase
