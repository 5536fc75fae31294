"""The paths ``/v1/rerank`` and ``/v1/embed``.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

import json
from collections.abc import Sequence

import numpy as np
from fastapi import APIRouter, Response

from cocite.errors import InputError
from cocite.protocols import Query
from cocite_serve.http import text_calls
from cocite_serve.http.conversion import to_query
from cocite_serve.http.manuscript import manuscript_of, parse_manuscript
from cocite_serve.http.openapi import refusals
from cocite_serve.http.problems import check_text
from cocite_serve.http.query_fields import QueryText
from cocite_serve.http.recommending import versions_of
from cocite_serve.http.service import Service
from cocite_serve.http.text_schemas import (
    EmbedRequest,
    EmbedResponse,
    EmbedText,
    RerankRequest,
    RerankResponse,
    Scored,
)
from cocite_serve.http.text_work import EmbedWork, ScoreWork


def text_router(service: Service) -> APIRouter:
    """The two paths over a service."""
    router = APIRouter(tags=["texts"])
    limits = service.settings.limits

    @router.post(
        "/v1/rerank",
        summary="Score papers or texts for a query",
        responses=refusals(404, 413, 422, 429, 503, 504),
    )
    async def rerank(request: RerankRequest) -> RerankResponse:
        check_text(request, limits)
        count = _one_of(request.ids, request.texts)
        service.check_count(count, "ids" if request.ids else "texts", limits.texts)
        _check_lengths(request.texts, "texts", limits.text_chars)
        query, backend = to_query(manuscript_of(request), request), service.named(request.release)
        if request.ids:
            rows = text_calls.rows_of(backend, request.ids)
            found = await text_calls.score_papers(service, backend, query, rows, request.deadline_ms)
            by_row = {paper.row: paper for paper in found.papers}
            results = []
            for index, (id_, row) in enumerate(zip(request.ids, rows, strict=True)):
                if (paper := by_row.get(row)) is not None:
                    score = paper.stages.get(found.scored_by, paper.score)
                    results.append(Scored(index=index, id=id_, score=score, stages=paper.stages))
            scored_by = found.scored_by
        else:
            facts = await backend.facts()
            text_calls.require_cross_encoder(facts, "local" if query.is_local else "global")
            work = ScoreWork(query, tuple(request.texts), whole=not request.truncate)
            logits = await text_calls.score_texts(service, backend, work, request.deadline_ms)
            results = [Scored(index=index, score=float(logit)) for index, logit in enumerate(logits)]
            scored_by = text_calls.CROSS_ENCODER
        results.sort(key=lambda result: (-result.score, result.index))
        if scored_by == text_calls.CROSS_ENCODER and not request.raw_scores:
            for result in results:
                result.score = float(text_calls.relevance(np.float64(result.score)))
        return RerankResponse(results=results, scored_by=scored_by, **versions_of(backend))

    @router.post(
        "/v1/embed",
        summary="Vectors of texts, or of papers",
        responses=refusals(404, 413, 422, 429, 503, 504),
        response_model=EmbedResponse,
    )
    async def embed(request: EmbedRequest) -> Response:
        count = _one_of(request.ids, request.texts)
        service.check_count(count, "ids" if request.ids else "texts", limits.texts)
        texts = [EmbedText(title=text) if isinstance(text, str) else text for text in request.texts]
        for index, text in enumerate(texts):
            _check_lengths([text.title, text.abstract, text.context], f"texts.{index}", limits.text_chars)
        backend = service.named(request.release)
        encoder = text_calls.require_encoder(await backend.facts(), request.encoder)
        if request.read_as == "paper" and request.texts:
            text_calls.require_papers(encoder, "read_as")
        work = EmbedWork(
            encoder.name,
            tuple(map(_query, texts)),
            tuple(text_calls.rows_of(backend, request.ids)),
            as_papers=request.read_as == "paper",
            whole=not request.truncate,
        )
        vectors = await text_calls.embed(service, backend, work, request.deadline_ms)
        answer = {"encoder": encoder.name, "dimension": encoder.dimension, "vectors": vectors.tolist()}
        # Written here: validating each of a million numbers would take longer than computing them.
        return Response(json.dumps(answer | versions_of(backend)), media_type="application/json")

    return router


def _query(text: EmbedText) -> Query:
    """An :class:`EmbedText` as a query; a title alone may be a context that marks a gap."""
    if text.context or text.abstract:
        parsed = parse_manuscript(title=text.title, abstract=text.abstract, context=text.context)
        return to_query(parsed, QueryText())
    return text_calls.query_of(text.title)


def _one_of(ids: Sequence[str], texts: Sequence[object]) -> int:
    """How many ids or texts there are.

    Raises:
        InputError: there are none, or both.
    """
    if bool(ids) == bool(texts):
        raise InputError("give either ids or texts" + (", not both" if ids else ""), where="ids")
    return len(ids) + len(texts)


def _check_lengths(texts: list[str], field: str, most: int) -> None:
    for text in texts:
        if len(text) > most:
            raise InputError(f"a text may have at most {most:,} characters, got {len(text):,}", where=field)
