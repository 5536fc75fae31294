"""The Ray Serve deployments: a gateway, a retriever, a reranker.

Each of the two stages holds one stage object of the library and adds only what serving needs: one computing thread,
a bound on what may wait, and a check that both serve the same model and index. A request makes one call to each, and
what passes between them are the library's arrays.

No ``from __future__ import annotations`` here: FastAPI reads the gateway.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayActorError, RayTaskError
from ray.serve import Application, Deployment
from ray.serve.config import AutoscalingConfig, BackpressureConfig
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from ray.serve.handle import DeploymentHandle

from cocite.pipeline.options import Candidates, Options, Recommendation
from cocite.protocols import Query
from cocite_serve.api import Answer, build_app
from cocite_serve.papers import Papers
from cocite_serve.problems import NotReadyError, OverloadedError
from cocite_serve.settings import ServeSettings, Stage

T = TypeVar("T")


@dataclass(frozen=True)
class Versions:
    """What a replica has loaded. Replicas of different versions never answer one request together."""

    model: str
    index: str

    def require(self, other: "Versions", who: str) -> None:
        """Raise when another replica has loaded something else."""
        if self != other:
            raise NotReadyError(
                f"the {who} serves model {other.model} and index {other.index}, but this request needs model "
                f"{self.model} and index {self.index}; a new version is being rolled out, try again"
            )


@dataclass(frozen=True)
class Retrieved:
    """What the first stage hands to the second."""

    candidates: Candidates
    versions: Versions


class Worker:
    """One thread that computes, so that a replica still answers its health checks while it works."""

    def __init__(self) -> None:
        _single_threaded()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stage")

    async def run(self, work: Callable[[], T]) -> T:
        """The result of ``work``; when the caller has gone before its turn, it is never computed."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


class Retriever:
    """The first stage: encode, search, expand, fuse."""

    def __init__(self, settings: ServeSettings) -> None:
        # Imported by the replica alone: who starts it, and the gateway, need no models.
        from cocite.pipeline import members
        from cocite.pipeline.first_stage import FirstStage
        from cocite.retrieval.snapshot import IndexSnapshot

        self._worker = Worker()
        index = IndexSnapshot.open(settings.index, settings.index_version)
        self._stage = FirstStage.load(settings.model, index)
        self._versions = Versions(members.version(settings.model), index.version)

    async def versions(self) -> Versions:
        """What this replica has loaded."""
        return self._versions

    async def retrieve(self, query: Query, options: Options) -> Retrieved:
        """The candidates of one query."""
        candidates = await self._worker.run(lambda: self._stage.retrieve([query], options))
        return Retrieved(candidates, self._versions)


class Reranker:
    """The second stage: rerank and explain."""

    def __init__(self, settings: ServeSettings) -> None:
        from cocite.pipeline import members
        from cocite.pipeline.second_stage import SecondStage
        from cocite.retrieval.snapshot import IndexSnapshot

        self._worker = Worker()
        index = IndexSnapshot.open(settings.index, settings.index_version)
        self._stage = SecondStage.load(settings.model, index)
        self._versions = Versions(members.version(settings.model), index.version)

    async def versions(self) -> Versions:
        """What this replica has loaded."""
        return self._versions

    async def rerank(self, query: Query, found: Retrieved, options: Options) -> list[Recommendation]:
        """The ranked papers of one query."""
        self._versions.require(found.versions, "retriever")
        ranked = await self._worker.run(lambda: self._stage.rerank([query], found.candidates, options))
        return ranked[0]


@serve.ingress()
class Gateway:
    """Speaks HTTP, and asks the two stages."""

    def __init__(
        self, settings: ServeSettings, retriever: DeploymentHandle, reranker: DeploymentHandle
    ) -> None:
        self._settings = settings
        self._retriever = retriever
        self._reranker = reranker

    async def __serve_build_asgi_app__(self) -> FastAPI:
        """The application of this replica; waits for both stages and refuses stages that differ."""
        self._versions = await self._retriever.versions.remote()
        self._versions.require(await self._reranker.versions.remote(), "reranker")
        self.model_version, self.index_version = self._versions.model, self._versions.index
        self.papers = Papers.open(self._settings.index, self.index_version)
        return build_app(self, self._settings)

    async def ready(self) -> None:
        """Return when both stages answer with the versions of this gateway."""
        for who, stage in (("retriever", self._retriever), ("reranker", self._reranker)):
            try:
                with _worded():
                    self._versions.require(await stage.versions.remote(), who)
            except OverloadedError:
                continue  # busy is not broken

    async def recommend(self, query: Query, options: Options) -> Answer:
        """The ranked papers of one query: one call to each stage."""
        begin = time.perf_counter()
        with _worded():
            found: Retrieved = await self._retriever.retrieve.remote(query, options)
            self._versions.require(found.versions, "retriever")
            between = time.perf_counter()
            ranked: list[Recommendation] = await self._reranker.rerank.remote(query, found, options)
        end = time.perf_counter()
        return Answer(ranked, 1000 * (between - begin), 1000 * (end - between))


@contextmanager
def _worded() -> Iterator[None]:
    """Ray's errors as the API's: what a stage raised itself, too many waiting, no replica."""
    try:
        yield
    except BackPressureError as error:
        raise OverloadedError(str(error)) from error
    except DeploymentUnavailableError as error:
        raise NotReadyError("a stage failed to start; the server's log says why") from error
    except RayTaskError as error:
        # A stage's own error arrives as a class made of RayTaskError and the original one.
        raise error.cause from error
    except RayActorError as error:
        raise NotReadyError("a stage's process ended while it worked on this request; try again") from error


def build(settings: ServeSettings) -> Application:
    """The Serve application of some settings, to be given to ``serve.run``."""
    retriever = _stage(Retriever, settings.retriever, settings).bind(settings)
    reranker = _stage(Reranker, settings.reranker, settings).bind(settings)
    gateway = serve.deployment(
        Gateway,
        num_replicas=settings.gateway.replicas,
        max_ongoing_requests=settings.gateway.max_ongoing_requests,
        max_queued_requests=settings.gateway.max_queued_requests,
        backpressure_config=BackpressureConfig(status_code=429, retry_after_s=settings.retry_after_s),
        max_constructor_retry_count=1,
        ray_actor_options=_resources(settings.gateway.num_cpus, 0),
    )
    return gateway.bind(settings, retriever, reranker)


def _stage(cls: type, stage: Stage, settings: ServeSettings) -> Deployment:
    scaling: dict[str, Any] = {"num_replicas": stage.replicas}
    if stage.max_replicas is not None and stage.max_replicas > stage.replicas:
        scaling = {
            "autoscaling_config": AutoscalingConfig(
                min_replicas=stage.replicas,
                max_replicas=stage.max_replicas,
                target_ongoing_requests=max(1, stage.max_ongoing_requests // 2),
                upscale_delay_s=5,
                downscale_delay_s=120,
            )
        }
    return serve.deployment(
        cls,
        **scaling,
        max_ongoing_requests=stage.max_ongoing_requests,
        max_queued_requests=stage.max_queued_requests,
        backpressure_config=BackpressureConfig(status_code=429, retry_after_s=settings.retry_after_s),
        max_constructor_retry_count=1,
        max_surge_percent=100,  # a new version's replica is up before the old one goes
        ray_actor_options=_resources(stage.num_cpus, stage.num_gpus),
    )


def _resources(num_cpus: float, num_gpus: float) -> dict[str, Any]:
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {"num_cpus": num_cpus, "num_gpus": num_gpus, "runtime_env": {"env_vars": one}}


def _single_threaded() -> None:
    """Replicas are the unit of scale: inside one, threads of torch and FAISS would only fight for the cores."""
    import faiss
    import torch

    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
