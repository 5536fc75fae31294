"""The HTTP API over both stages in the test's own process, without Ray."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite_serve.http.api import Backend, build_app
from cocite_serve.http.conversion import Answer
from cocite_serve.http.papers import Papers
from cocite_serve.settings import Limits, ServeSettings

LIMITS = Limits(
    body_bytes=4096,
    title_chars=100,
    abstract_chars=200,
    text_chars=300,
    top_k=30,
    depth=100,
    rerank=20,
    exclude=3,
    papers=3,
)
"""Limits that a test can exceed."""


class InProcess:
    """A backend of the API whose stages are a recommender's."""

    def __init__(self, recommender: Recommender) -> None:
        index = recommender.index
        self.recommender = recommender
        self.registered = None
        self.papers = Papers(index.corpus, index.alive)
        self.model_version, self.index_version = recommender.model_version, index.version
        self.options: list[Options] = []
        """The options of each request, in the order of the requests."""

    async def ready(self) -> None:
        return

    async def recommend(self, query: Query, options: Options) -> Answer:
        self.options.append(options)
        return Answer(await asyncio.to_thread(self.recommender.recommend, query, options), 1.0, 1.0)


def client(backend: Backend, **changes: Any) -> TestClient:
    """A client of the API over a backend.

    Args:
        backend: of the API.
        changes: of the settings.
    """
    settings = ServeSettings(index=Path("unused"), limits=LIMITS, **changes)
    return TestClient(build_app(lambda: backend, settings), raise_server_exceptions=False)
