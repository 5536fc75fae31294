"""The HTTP application: each path checks its request, calls the stages, and converts what they return.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from fastapi import FastAPI

import cocite
from cocite.drafts.suggestions import has_classifier
from cocite_serve.http import problems
from cocite_serve.http.backend import Backend
from cocite_serve.http.body_limit import DRAFT_PATHS, BodyLimit
from cocite_serve.http.click_paths import Clicks, NoClicks, click_router
from cocite_serve.http.conversion import to_paper
from cocite_serve.http.draft_paths import draft_router
from cocite_serve.http.example_paths import example_router
from cocite_serve.http.head import HeadAsGet
from cocite_serve.http.key_counts import keeping
from cocite_serve.http.key_schemes import describe_keys
from cocite_serve.http.keys import KeyRing, RequireKey, add_key_paths
from cocite_serve.http.link_paths import link_router
from cocite_serve.http.metrics import CountRequests, GatewayMetrics
from cocite_serve.http.openapi import describe_exactly, refusals
from cocite_serve.http.recommend_paths import recommend_router
from cocite_serve.http.recommending import versions_of
from cocite_serve.http.reference_paths import reference_router
from cocite_serve.http.release_names import loaded_names
from cocite_serve.http.request_context import Identify
from cocite_serve.http.schemas import PaperOut
from cocite_serve.http.service import Service
from cocite_serve.http.tei import tei_router
from cocite_serve.http.text_paths import text_router
from cocite_serve.http.trace_requests import TraceRequests
from cocite_serve.http.version_schemas import BesideRelease, Health, RegisteredModel, Version
from cocite_serve.http.web import SecurityHeaders, add_pages
from cocite_serve.settings import ServeSettings

DESCRIPTION = """
Recommends the papers that a manuscript should cite, each with the evidence for it.

Send a title and abstract, or a text with the gap marked `[CIT]`, to **POST /v1/recommend**. Every refusal is a JSON
object whose `error` is one sentence: 404 an unknown paper, 413 too large a body, 422 a field that does not fit, 429 it
would wait too long for others (try again after `Retry-After` seconds), 504 too slow.
"""


def build_app(
    current: Callable[[], Backend],
    settings: ServeSettings,
    metrics: GatewayMetrics | None = None,
    log: Callable[[dict[str, Any]], None] | None = None,
    clicks: Clicks | None = None,
) -> FastAPI:
    """The ASGI application of the API and the web page.

    Args:
        current: returns the backend to call now. Each request calls it once, so that one backend answers all of it.
        settings: limits and defaults.
        metrics: counts the requests; new ones when not given.
        log: takes a line for each request; None: none is written.
        clicks: counts clicks on interleaved answers; None: there are none, so every token is unknown.
    """
    metrics = metrics or GatewayMetrics()
    ring = KeyRing(settings.keys, settings.gateway.most)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        telling = asyncio.create_task(metrics.repeat(current))
        async with keeping(ring, settings.logs) if ring.is_on else nullcontext():
            yield
        telling.cancel()

    app = FastAPI(
        title="cocite",
        version=cocite.__version__,
        summary="Citation recommendation",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    limits = settings.limits
    service = Service(current, settings, metrics)
    routers = (
        recommend_router(app, service),
        draft_router(app, service),
        text_router(service),
        click_router(clicks or NoClicks()),
        tei_router(service),
        reference_router(service),
        link_router(service),
        example_router(service),
    )
    for router in routers:
        app.include_router(router)

    @app.get("/v1/health", tags=["service"], summary="Can it answer?", responses=refusals(504))
    async def health() -> Health:
        backend = current()
        try:
            async with asyncio.timeout(settings.request_timeout_s):
                await backend.ready()
        except TimeoutError as error:
            raise problems.TooSlowError(settings.request_timeout_s) from error
        return Health(papers=len(backend.papers), registered=_registered(backend))

    @app.get("/v1/version", tags=["service"], summary="What is being served?", responses=refusals())
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
            suggests=has_classifier(backend.model),
            registered=_registered(backend),
            refused=list(backend.refused),
            beside=_beside(backend, settings),
            releases=loaded_names(backend, backend.beside),
            **versions_of(backend),
        )

    # Ids may hold slashes (a DOI, an address), hence `:path`; the longer routes, of references, come first.
    @app.get("/v1/papers/{id:path}", tags=["papers"], summary="One paper", responses=refusals(404))
    async def paper(id: str) -> PaperOut:
        return to_paper(current().papers, id)

    add_key_paths(app, ring)
    add_pages(app)
    problems.add_handlers(app, settings)
    describe_exactly(app, limits)
    if ring.is_on:
        describe_keys(app)
    app.add_middleware(HeadAsGet)
    # What is added last is outermost: a refused body's response has the security headers too.
    app.add_middleware(
        BodyLimit,
        limit=limits.body_bytes,
        seconds=limits.body_s,
        larger=dict.fromkeys(DRAFT_PATHS, limits.draft_bytes),
        arriving_bytes=limits.arriving_bytes,
        at_once=limits.drafts_waiting,
        retry_after_s=settings.retry_after_s,
    )
    app.add_middleware(RequireKey, ring=ring)
    app.add_middleware(SecurityHeaders)
    routes = [*app.routes, *(route for router in routers for route in router.routes)]
    paths = tuple(path for route in routes if "{" not in (path := getattr(route, "path", None) or "{"))
    app.add_middleware(CountRequests, metrics=metrics, paths=paths, log=log)
    app.add_middleware(TraceRequests, paths=paths)
    app.add_middleware(Identify)
    return app


def _registered(backend: Backend) -> RegisteredModel | None:
    model = backend.registered
    if model is None:
        return None
    return RegisteredModel(name=model.name, version=model.version, alias=model.alias)


def _beside(backend: Backend, settings: ServeSettings) -> BesideRelease | None:
    beside = backend.beside
    if beside is None:
        return None
    return BesideRelease(
        registered=_registered(beside),
        traffic=settings.beside.traffic,
        share=settings.beside.share,
        **versions_of(beside),
    )
