"""The paths of Hugging Face's text-embeddings-inference: ``huggingface_hub``'s client works with them unchanged.

``/rerank``, ``/embed`` (also ``POST /``, where ``InferenceClient`` sends a text), ``/info`` and ``/health`` have that
server's requests, answers, statuses and errors (router/src/http of version 1.6). A plain text is read as the model
needs it: for a cross-encoder of gaps, the query is a context; for an encoder, a text is a title, or a context where it
holds ``[CIT]``.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

import cocite
from cocite.errors import InputError
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_serve.http import text_calls
from cocite_serve.http.openapi import DESCRIPTIONS
from cocite_serve.http.problem_body import MEDIA_TYPE
from cocite_serve.http.problems import NotReadyError, OverloadedError, TooSlowError, log_defect
from cocite_serve.http.service import Service
from cocite_serve.http.tei_schemas import (
    TeiEmbedRequest,
    TeiError,
    TeiErrorType,
    TeiInfo,
    TeiRank,
    TeiRerankRequest,
    Vectors,
)
from cocite_serve.http.text_work import EmbedWork, ScoreWork

STATUSES: dict[TeiErrorType, int] = {
    "Empty": 400,
    "Validation": 413,
    "Tokenizer": 422,
    "Backend": 424,
    "Overloaded": 429,
    "Unhealthy": 503,
}
MEANINGS = {
    400: "There is no text, or the body is not UTF-8.",
    413: "More texts than `max_client_batch_size`, or one that is too long.",
    422: "The body does not fit.",
    424: "The model that is served cannot do this, or failed.",
    429: "The request would wait too long for others; try again after `Retry-After` seconds.",
    503: "It cannot answer now.",
}


class EmptyError(InputError):
    """A request without a text.

    Example:
        >>> raise EmptyError("`inputs` cannot be empty")
        Traceback (most recent call last):
        ...
        cocite_serve.http.tei.EmptyError: `inputs` cannot be empty
    """


def tei_router(service: Service) -> APIRouter:
    """The paths over a service."""
    router = APIRouter(tags=["text-embeddings-inference"], route_class=_route_class(service))
    limits = service.settings.limits

    def check(texts: list[str], name: str) -> None:
        if not texts:
            raise EmptyError(f"`{name}` cannot be empty")
        if len(texts) > limits.texts:
            raise InputError(f"batch size {len(texts)} > maximum allowed batch size {limits.texts}")
        if (longest := max(map(len, texts))) > limits.text_chars:
            raise InputError(f"a text may have at most {limits.text_chars} characters. Given: {longest}")

    def check_direction(request: TeiRerankRequest | TeiEmbedRequest) -> None:
        if request.truncation_direction.lower() == "left":
            raise InputError(
                "texts that are too long are cut at their end alone: `truncation_direction` is Right"
            )

    @router.post(
        "/rerank", summary="Rank texts (text-embeddings-inference)", responses=_responses(413, 424, 429)
    )
    async def rerank(request: TeiRerankRequest) -> list[TeiRank]:
        check(request.texts, "texts")
        check([request.query] if request.query.strip() else [], "query")
        check_direction(request)
        backend = service.current()
        kind = text_calls.require_cross_encoder(await backend.facts()).kind
        query = text_calls.query_of(request.query, kind)
        work = ScoreWork(query, tuple(request.texts), whole=request.truncate is False)
        logits = await text_calls.score_texts(service, backend, work, None)
        scores = logits if request.raw_scores else text_calls.relevance(logits)
        return [
            TeiRank(
                index=index,
                text=request.texts[index] if request.return_text else None,
                score=float(scores[index]),
            )
            for index in np.argsort(-logits, kind="stable").tolist()
        ]

    async def embed(request: TeiEmbedRequest) -> Response:
        texts = [request.inputs] if isinstance(request.inputs, str) else request.inputs
        check(texts, "inputs")
        check_direction(request)
        if request.prompt_name not in (None, "query", "document"):
            raise InputError(f"no prompt is called {request.prompt_name!r}: the names are query and document")
        backend = service.current()
        encoder = text_calls.require_encoder(await backend.facts())
        as_papers = request.prompt_name == "document"
        if as_papers:
            text_calls.require_papers(encoder)
        if (request.dimensions or 0) > encoder.dimension:
            raise InputError(f"`dimensions` may be at most {encoder.dimension}. Given: {request.dimensions}")
        queries = tuple(map(text_calls.query_of, texts))
        work = EmbedWork(encoder.name, queries, as_papers=as_papers, whole=request.truncate is False)
        vectors = await text_calls.embed(service, backend, work, None)
        if request.dimensions is not None:
            vectors = vectors[:, : request.dimensions]
            if request.normalize:
                vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        # Written here: validating each of a million numbers would take longer than computing them.
        return Response(json.dumps(vectors.tolist()), media_type="application/json")

    for path in ("/embed", "/"):
        router.add_api_route(
            path,
            embed,
            methods=["POST"],
            include_in_schema=path == "/embed",  # the other is a name of the same
            summary="Vectors of texts (text-embeddings-inference)",
            responses=_responses(413, 424, 429),
            response_model=Vectors,
        )

    @router.get("/info", summary="What is served (text-embeddings-inference)", responses=_responses(424))
    async def info() -> TeiInfo:
        backend, settings = service.current(), service.settings
        facts = await backend.facts()
        common = {
            "model_id": backend.registered.name if backend.registered else "cocite",
            "model_sha": backend.model_version,
            "max_concurrent_requests": settings.gateway.max_requests,
            "max_client_batch_size": limits.texts,
            "version": cocite.__version__,
        }
        if (reader := facts.cross_encoder) is not None:
            labels = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
            return TeiInfo(
                **common,
                model_dtype=reader.precision,
                model_type={"reranker": labels},
                max_input_length=reader.max_tokens,
                max_batch_tokens=settings.reranker.chunk_tokens or reader.chunk_tokens,
            )
        encoder = text_calls.require_encoder(facts)
        length = encoder.max_tokens or limits.text_chars
        return TeiInfo(
            **common,
            model_dtype="float32",
            model_type={"embedding": {"pooling": encoder.pooling}},
            max_input_length=length,
            max_batch_tokens=length * settings.retriever.block,
        )

    @router.get(
        "/health",
        summary="Can it answer? (text-embeddings-inference)",
        responses=_responses(),
        response_class=Response,
    )
    async def health() -> Response:
        await service.within(None, lambda _: service.current().ready())
        return Response()

    return router


def _responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a path. What is refused before the path is looked at has the form of all other paths."""
    error = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    result: dict[int | str, dict[str, Any]] = {
        status: {"description": DESCRIPTIONS[status], "content": error} for status in (401, 403, 408)
    }
    for status in sorted({400, 413, 422, 424, 429, 503, *statuses}):
        result[status] = {"model": TeiError, "description": MEANINGS[status]}
    result[400]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    for status in (413, 429):
        result[status]["content"] = error
    return result


def _route_class(service: Service) -> type[APIRoute]:
    class TeiRoute(APIRoute):
        """A route whose errors have that server's form."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            answer = super().get_route_handler()

            async def handle(request: Request) -> Response:
                try:
                    return await answer(request)
                except Exception as error:
                    return _refusal(request, error, service.settings.retry_after_s)

            return handle

    return TeiRoute


def _refusal(request: Request, error: Exception, retry_after_s: int) -> JSONResponse:
    """The response to an error."""
    kind, headers = _kind(error), {}
    text = str(error)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        text = f"{'.'.join(str(part) for part in first['loc'][1:])}: {first['msg']}".removeprefix(": ")
        return JSONResponse({"error": text, "error_type": "Validation"}, 422)
    if isinstance(error, HTTPException):
        return JSONResponse({"error": str(error.detail), "error_type": "Validation"}, error.status_code)
    if isinstance(error, OverloadedError):
        after = retry_after_s if error.retry_s is None else max(1, math.ceil(error.retry_s))
        text, headers = "Model is overloaded", {"Retry-After": str(after)}
    elif isinstance(error, InputError):
        text = error.message
    elif not isinstance(error, NotReadyError | ShardsUnavailableError | TooSlowError):
        id = log_defect(request, error)
        text = f"Inference failed; the line of request {id} in the server's log says why"
    return JSONResponse({"error": text, "error_type": kind}, STATUSES[kind], headers=headers)


def _kind(error: Exception) -> TeiErrorType:
    kinds: tuple[tuple[type[Exception] | tuple[type[Exception], ...], TeiErrorType], ...] = (
        (EmptyError, "Empty"),
        (text_calls.NoModelError, "Backend"),
        (InputError, "Validation"),
        (OverloadedError, "Overloaded"),
        ((NotReadyError, ShardsUnavailableError), "Unhealthy"),
    )
    return next((kind for types, kind in kinds if isinstance(error, types)), "Backend")
