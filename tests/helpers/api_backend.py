"""The HTTP API over both stages in the test's own process, without Ray."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.testclient import TestClient

from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.stepwise_ranking import read_together
from cocite.protocols import Query
from cocite_serve.http.api import build_app
from cocite_serve.http.backend import Backend
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.papers import Papers
from cocite_serve.http.release_names import find_release
from cocite_serve.http.text_work import EmbedWork, ModelFacts, ScoreWork
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.replicas import embeddings, text_pairs
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
        self.refused: tuple[RefusedRelease, ...] = ()
        self.beside: Backend | None = None
        self.model: Path | None = None
        self.papers = Papers(index.corpus, index.alive)
        self.model_version, self.index_version = recommender.model_version, index.version
        self.deadlines: list[Deadline] = []
        self.options: list[Options] = []
        """The options of each request, in the order of the requests."""

    def holding(self, *_: str) -> InProcess:
        return self

    def chosen(self, release: str | None, _: str) -> InProcess:
        find_release(release, self)
        return self

    async def ready(self) -> None:
        return

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        self.options.append(options)
        self.deadlines.append(deadline)
        return Answer(await asyncio.to_thread(self.recommender.recommend, query, options), 1.0, 1.0)

    async def facts(self) -> ModelFacts:
        first, second = self.recommender.first, self.recommender.second
        return ModelFacts(embeddings.facts_of(first), text_pairs.facts_of(second))

    async def embed(self, work: EmbedWork, deadline: Deadline) -> NDArray[np.float32]:
        self.deadlines.append(deadline)
        job = embeddings.Embed(work)
        job.compute(self.recommender.first, [(job, work.items)])
        return job.result()

    async def score(self, work: ScoreWork, deadline: Deadline) -> NDArray[np.float32]:
        self.deadlines.append(deadline)
        job = text_pairs.Score(work)
        read_together(self.recommender.second, [(job.open(self.recommender.second), len(work.texts))])
        return job.result()


def client(backend: Backend, **changes: Any) -> TestClient:
    """A client of the API over a backend.

    Args:
        backend: of the API.
        changes: of the settings.
    """
    # On a busy machine an answer of a few milliseconds may take longer than the usual 20 s.
    usual = {"limits": LIMITS, "request_timeout_s": 300}
    settings = ServeSettings(index=Path("unused"), **{**usual, **changes})
    return TestClient(build_app(lambda: backend, settings), raise_server_exceptions=False)
