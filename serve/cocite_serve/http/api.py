"""The HTTP application: each path checks its request, calls the stages, and converts what they return.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated, Protocol

from fastapi import FastAPI, Query, Response
from fastapi.responses import PlainTextResponse

import cocite
from cocite.corpus import bibtex
from cocite.errors import InputError
from cocite.pipeline.options import Options
from cocite.protocols import Query as Search
from cocite_mlflow.references import ModelVersion
from cocite_serve.http import problems
from cocite_serve.http.conversion import Answer, to_paper, to_query, to_response
from cocite_serve.http.manuscript import parse_manuscript
from cocite_serve.http.papers import Papers
from cocite_serve.http.schemas import (
    Health,
    PaperOut,
    Problem,
    RecommendRequest,
    RecommendResponse,
    RegisteredModel,
    Version,
)
from cocite_serve.http.web import BodyLimit, SecurityHeaders, add_pages
from cocite_serve.settings import ServeSettings

DESCRIPTION = """
Recommends the papers that a manuscript should cite, each with the evidence for it.

Send a title and abstract, or a text with the gap marked `[CIT]`, to **POST /v1/recommend**. Every refusal is a JSON
object whose `error` is one sentence: 404 an unknown paper, 413 too large a body, 422 a field that does not fit, 429 too
many requests (try again after `Retry-After` seconds), 504 too slow.
"""


class Backend(Protocol):
    """The part that the API calls: the papers of an index, and the two stages.

    Example:
        >>> class NoPapers:
        ...     papers, model_version, index_version, registered = [], "5f0c", "000001", None
        ...     async def recommend(self, query, options):
        ...         return Answer([], retrieve_ms=1.0, rerank_ms=0.0)
        ...     async def ready(self): ...
        >>> from starlette.testclient import TestClient
        >>> client = TestClient(build_app(NoPapers, ServeSettings(index="index")))
        >>> client.get("/v1/health").json()
        {'status': 'ok', 'papers': 0, 'registered': None}
    """

    papers: Papers
    model_version: str
    index_version: str
    registered: ModelVersion | None

    async def recommend(self, query: Search, options: Options) -> Answer:
        """The ranked papers of one query."""
        ...

    async def ready(self) -> None:
        """Return when both stages are loaded and answer."""
        ...


def build_app(current: Callable[[], Backend], settings: ServeSettings) -> FastAPI:
    """The ASGI application of the API and the web page.

    Args:
        current: returns the backend to call now. Each request calls it once, so that one backend answers all of it.
        settings: limits and defaults.
    """
    refused = {
        status: {"model": Problem, "description": text}
        for status, text in problems.STATUS_DESCRIPTIONS.items()
    }

    def responses(*statuses: int) -> dict[int | str, dict[str, object]]:
        return {status: refused[status] for status in statuses}

    app = FastAPI(
        title="cocite",
        version=cocite.__version__,
        summary="Citation recommendation",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )
    limits = settings.limits

    @app.post(
        "/v1/recommend",
        tags=["recommend"],
        summary="Recommend papers to cite",
        responses=responses(413, 422, 429, 503, 504),
        response_model=RecommendResponse,
    )
    async def recommend(request: RecommendRequest) -> Response:
        problems.check_limits(request, limits)
        backend = current()
        manuscript = parse_manuscript(
            title=request.title,
            abstract=request.abstract,
            context=request.context,
            text=request.text,
            gap=request.gap,
        )
        rows = backend.papers.rows(request.exclude)
        options = Options(
            top_k=request.top_k or min(settings.top_k, limits.top_k),
            depth=request.depth or min(settings.depth, limits.depth),
            rerank=min(settings.rerank, limits.rerank) if request.rerank is None else request.rerank,
            cross_weight=settings.cross_weight,
            year_from=request.year_from,
            year_to=request.year_to,
            candidates=request.candidates,
            exclude=tuple(int(row) for row in rows if row >= 0),
            exclude_authors=tuple(request.exclude_authors),
            evidence=request.evidence,
        )
        query = to_query(manuscript, request)
        async with asyncio.timeout(settings.request_timeout_s):
            answer = await backend.recommend(query, options)
        unknown = [id_ for id_, row in zip(request.exclude, rows, strict=True) if row < 0]
        response = to_response(manuscript, answer, backend.papers, unknown, _versions(backend))
        # Already of its type: writing it here saves a second validation of twenty papers.
        return Response(response.model_dump_json(), media_type="application/json")

    @app.get("/v1/health", tags=["service"], summary="Can it answer?", responses=responses(503))
    async def health() -> Health:
        backend = current()
        async with asyncio.timeout(settings.request_timeout_s):
            await backend.ready()
        return Health(papers=len(backend.papers), registered=_registered(backend))

    @app.get("/v1/version", tags=["service"], summary="What is being served?")
    async def version() -> Version:
        backend = current()
        first, last = backend.papers.years or (None, None)
        return Version(
            cocite=cocite.__version__,
            papers=len(backend.papers),
            year_from=first,
            year_to=last,
            top_k=settings.top_k,
            depth=settings.depth,
            rerank=settings.rerank,
            registered=_registered(backend),
            **_versions(backend),
        )

    @app.get(
        "/v1/bibtex",
        tags=["papers"],
        summary="Several papers as BibTeX, with keys that differ",
        response_class=PlainTextResponse,
        responses=responses(404, 422),
    )
    async def bibtex_of(id: Annotated[list[str], Query(description="Ids of papers.")]) -> str:
        if len(id) > limits.papers:
            raise InputError(f"at most {limits.papers} papers at a time, got {len(id)}", where="id")
        return bibtex.entries(current().papers.records(id))

    # Ids may hold slashes (a DOI, an address), hence `:path`; the longer route must come first.
    @app.get(
        "/v1/papers/{id:path}/bibtex",
        tags=["papers"],
        summary="One paper as BibTeX",
        response_class=PlainTextResponse,
        responses=responses(404),
    )
    async def paper_bibtex(id: str) -> str:
        return bibtex.entries(current().papers.records([id]))

    @app.get("/v1/papers/{id:path}", tags=["papers"], summary="One paper", responses=responses(404))
    async def paper(id: str) -> PaperOut:
        return to_paper(current().papers, id)

    add_pages(app)
    problems.add_handlers(app, settings)
    # What is added last is outermost: a refused body's response has the security headers too.
    app.add_middleware(BodyLimit, limit=limits.body_bytes)
    app.add_middleware(SecurityHeaders)
    return app


def _versions(backend: Backend) -> dict[str, str]:
    return {"model_version": backend.model_version, "index_version": backend.index_version}


def _registered(backend: Backend) -> RegisteredModel | None:
    model = backend.registered
    if model is None:
        return None
    return RegisteredModel(name=model.name, version=model.version, alias=model.alias)
