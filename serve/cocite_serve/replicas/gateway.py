"""The gateway: the replica that answers HTTP requests by calling the two stages of one release.

No ``from __future__ import annotations`` here: FastAPI reads the gateway.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from ray.serve.handle import DeploymentHandle

from cocite.pipeline.options import Options, Recommendation
from cocite.protocols import Query
from cocite_serve.http.api import build_app
from cocite_serve.http.conversion import Answer
from cocite_serve.http.papers import Papers
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.release import Release
from cocite_serve.replicas.names import newest_stages
from cocite_serve.replicas.stages import LoadedVersions, RetrievedCandidates
from cocite_serve.settings import ServeSettings


class StagePair:
    """The two stages of one release, as a gateway calls them; a :class:`~cocite_serve.http.api.Backend`.

    Args:
        release: what the stages have loaded.
        versions: of its model and index.
        papers: of its index.
        retriever: Ray Serve's handle of the first stage.
        reranker: Ray Serve's handle of the second.

    Example:
        A gateway opens the stages of an application by its name, on Ray Serve::

            pair = await StagePair.open("cocite-stages-1")
            answer = await pair.recommend(query, Options(top_k=5))

        >>> release = Release(None, "index", "000001")
        >>> pair = StagePair(release, LoadedVersions("5f0c", "000001"), None, None, None)
        >>> pair.model_version, pair.index_version
        ('5f0c', '000001')
    """

    def __init__(
        self,
        release: Release,
        versions: LoadedVersions,
        papers: Papers,
        retriever: DeploymentHandle,
        reranker: DeploymentHandle,
    ) -> None:
        self.papers, self.registered = papers, release.registered
        self.model_version, self.index_version = versions.model, versions.index
        self._versions, self._retriever, self._reranker = versions, retriever, reranker
        self._shards = release.shards

    @classmethod
    async def open(cls, app: str) -> "StagePair":
        """The stages of an application; waits until both are loaded.

        Raises:
            NotReadyError: the two have loaded different versions.
        """
        # Serve's call waits for its controller, and the event loop must answer other requests meanwhile.
        reranker = await asyncio.to_thread(serve.get_app_handle, app)
        release, retriever = await reranker.release.remote()
        versions: LoadedVersions = await reranker.versions.remote()
        versions.require_same(await retriever.versions.remote(), "retriever")
        papers = await asyncio.to_thread(Papers.open, release.index, versions.index)
        return cls(release, versions, papers, retriever, reranker)

    async def ready(self) -> None:
        """Return when both stages answer with the versions of this pair."""
        for name, stage in (("retriever", self._retriever), ("reranker", self._reranker)):
            try:
                with translate_errors():
                    self._versions.require_same(await stage.versions.remote(), name)
            except OverloadedError:
                continue  # busy is not broken

    async def recommend(self, query: Query, options: Options) -> Answer:
        """The ranked papers of one query: one call to each stage."""
        begin = time.perf_counter()
        with translate_errors():
            retrieved: RetrievedCandidates = await self._retriever.retrieve.remote(query, options)
            self._versions.require_same(retrieved.versions, "retriever")
            between = time.perf_counter()
            papers: list[Recommendation] = await self._reranker.rerank.remote(query, retrieved, options)
        end = time.perf_counter()
        return Answer(
            papers,
            1000 * (between - begin),
            1000 * (end - between),
            self._shards,
            retrieved.candidates.missing_shards,
        )


@serve.ingress()
class Gateway:
    """The HTTP application of one replica over the stages of the newest release, or of the last one switched to.

    Args:
        settings: of the endpoint.

    Example:
        On Ray Serve, see :func:`cocite_serve.replicas.applications.gateway_application`::

            serve.run(gateway_application(settings), name="cocite", route_prefix="/")
            serve.get_app_handle("cocite").broadcast("switch_to", "cocite-stages-2").results()

        >>> Gateway.switch_to.__name__  # the method that a rollout calls on every gateway
        'switch_to'
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._app = ""

    async def __serve_build_asgi_app__(self) -> FastAPI:
        """The application of this replica."""
        await self.switch_to(await asyncio.to_thread(newest_stages))
        return build_app(lambda: self._pair, self._settings)

    async def switch_to(self, app: str) -> None:
        """Call the stages of another application from now on.

        Requests under way stay with the stages they began with: each asked for its backend once.
        """
        if app != self._app:
            # Assigned once the new pair is open: until then requests go to the old one.
            self._pair, self._app = await StagePair.open(app), app


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise Ray's errors as the API's: what a stage raised itself, too many waiting, no replica."""
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
