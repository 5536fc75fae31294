"""The Ray Serve deployments: a gateway, a retriever, a reranker.

Each of the two stages holds one stage object of the library and adds only what serving needs: one computing thread,
a bound on what may wait, and a check that both serve the same model and index. A request makes one call to each, and
what passes between them are the library's arrays.

The two stages of a release are an application of their own, without a route; the gateways are another, which stays. So
a new release loads beside the old one, the gateways turn to it between two requests, and each request is answered by
the one that it began with.

No ``from __future__ import annotations`` here: FastAPI reads the gateway.
"""

import asyncio
import os
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
from cocite.verification import SWITCH
from cocite_serve.answers import Answer
from cocite_serve.api import build_app
from cocite_serve.papers import Papers
from cocite_serve.problems import NotReadyError, OverloadedError
from cocite_serve.releases import Release
from cocite_serve.settings import ServeSettings, Stage

T = TypeVar("T")

APP = "cocite"
"""The application of the gateways."""
STAGES = "cocite-stages-"
"""The applications of the stages: this and a number, the newest has the highest."""


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

    def __init__(self, release: Release) -> None:
        # Imported by the replica alone: who starts it, and the gateway, need no models.
        from cocite.pipeline import components
        from cocite.pipeline.first_stage import FirstStage
        from cocite.retrieval.index.snapshot import IndexSnapshot

        self._worker = Worker()
        index = IndexSnapshot.open(release.index, release.index_version)
        self._stage = FirstStage.load(release.model, index)
        self._versions = Versions(components.version(release.model), index.version)

    async def versions(self) -> Versions:
        """What this replica has loaded."""
        return self._versions

    async def retrieve(self, query: Query, options: Options) -> Retrieved:
        """The candidates of one query."""
        candidates = await self._worker.run(lambda: self._stage.retrieve([query], options))
        return Retrieved(candidates, self._versions)


class Reranker:
    """The second stage: rerank and explain."""

    def __init__(self, release: Release, retriever: DeploymentHandle) -> None:
        from cocite.pipeline import components
        from cocite.pipeline.second_stage import SecondStage
        from cocite.retrieval.index.snapshot import IndexSnapshot

        self._worker = Worker()
        index = IndexSnapshot.open(release.index, release.index_version)
        self._stage = SecondStage.load(release.model, index)
        self._versions = Versions(components.version(release.model), index.version)
        self._release, self._retriever = release, retriever

    async def versions(self) -> Versions:
        """What this replica has loaded."""
        return self._versions

    async def release(self) -> tuple[Release, DeploymentHandle]:
        """The release it belongs to, and the retriever of that."""
        return self._release, self._retriever

    async def rerank(self, query: Query, found: Retrieved, options: Options) -> list[Recommendation]:
        """The ranked papers of one query."""
        self._versions.require(found.versions, "retriever")
        ranked = await self._worker.run(lambda: self._stage.rerank([query], found.candidates, options))
        return ranked[0]


class Pair:
    """The two stages of one release, as a gateway asks them; a :class:`~cocite_serve.api.Backend`."""

    def __init__(
        self,
        release: Release,
        versions: Versions,
        papers: Papers,
        retriever: DeploymentHandle,
        reranker: DeploymentHandle,
    ) -> None:
        self.papers, self.registered = papers, release.registered
        self.model_version, self.index_version = versions.model, versions.index
        self._versions, self._retriever, self._reranker = versions, retriever, reranker

    @classmethod
    async def open(cls, app: str) -> "Pair":
        """The stages of an application; waits for both and refuses stages that differ."""
        reranker = await asyncio.to_thread(serve.get_app_handle, app)
        release, retriever = await reranker.release.remote()
        versions: Versions = await reranker.versions.remote()
        versions.require(await retriever.versions.remote(), "retriever")
        papers = await asyncio.to_thread(Papers.open, release.index, versions.index)
        return cls(release, versions, papers, retriever, reranker)

    async def ready(self) -> None:
        """Return when both stages answer with the versions of this pair."""
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


@serve.ingress()
class Gateway:
    """Speaks HTTP, and asks the two stages of the newest release, or of the one that it was last turned to."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._app = ""

    async def __serve_build_asgi_app__(self) -> FastAPI:
        """The application of this replica."""
        await self.turn(await asyncio.to_thread(_newest_stages))
        return build_app(lambda: self._pair, self._settings)

    async def turn(self, app: str) -> None:
        """Ask the stages of an application from now on; the requests under way stay with those they began with."""
        if app != self._app:
            self._pair, self._app = await Pair.open(app), app


def number_of(app: str) -> int:
    """The number of an application of stages."""
    return int(app.removeprefix(STAGES))


def _newest_stages() -> str:
    """The newest application of stages that runs; where none does (while replicas are added, say), the oldest."""
    apps = serve.status().applications
    names: list[str] = sorted((name for name in apps if name.startswith(STAGES)), key=number_of)
    if not names:
        raise NotReadyError("no stages are loaded")
    return next((name for name in reversed(names) if apps[name].status == "RUNNING"), names[0])


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


def gateways(settings: ServeSettings) -> Application:
    """The application that speaks HTTP, to be given to ``serve.run`` when stages run."""
    gateway = serve.deployment(
        Gateway,
        num_replicas=settings.gateway.replicas,
        max_ongoing_requests=settings.gateway.max_ongoing_requests,
        max_queued_requests=settings.gateway.max_queued_requests,
        backpressure_config=BackpressureConfig(status_code=429, retry_after_s=settings.retry_after_s),
        max_constructor_retry_count=1,
        ray_actor_options=_resources(settings.gateway.num_cpus, 0),
    )
    return gateway.bind(settings)


def stages(release: Release, settings: ServeSettings) -> Application:
    """The application of a release's two stages, without a route."""
    retriever = _stage(Retriever, settings.retriever, settings).bind(release)
    return _stage(Reranker, settings.reranker, settings).bind(release, retriever)


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
        ray_actor_options=_resources(stage.num_cpus, stage.num_gpus),
    )


def _resources(num_cpus: float, num_gpus: float) -> dict[str, Any]:
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    one |= {name: os.environ[name] for name in (SWITCH,) if name in os.environ}  # on a cluster too
    return {"num_cpus": num_cpus, "num_gpus": num_gpus, "runtime_env": {"env_vars": one}}


def _single_threaded() -> None:
    """Replicas are the unit of scale: inside one, threads of torch and FAISS would only fight for the cores."""
    import faiss
    import torch

    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
