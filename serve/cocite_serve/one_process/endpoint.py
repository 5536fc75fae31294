"""Starts and stops the endpoint in this process: uvicorn in a thread, and the stages behind the API."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType

import uvicorn

from cocite.errors import CociteError, InputError
from cocite.nn.variables import KERNEL_CACHES
from cocite_serve.endpoint import lock_first, require_port, url_of
from cocite_serve.http.api import build_app
from cocite_serve.http.bounded_heads import bounded_heads
from cocite_serve.json_log import make_folder, open_log
from cocite_serve.metric_types import keep_in
from cocite_serve.notices import LOGGER, Notices, Notify
from cocite_serve.one_process.metrics import LocalMetrics
from cocite_serve.one_process.stages import LocalStages
from cocite_serve.release import LockedRelease, Release, ReleaseSource
from cocite_serve.replica_settings import ReplicaSettings
from cocite_serve.rollouts.watcher import Watcher
from cocite_serve.settings import ServeSettings
from cocite_serve.tracing import exporting


class LocalEndpoint:
    """A running endpoint of this process. A context manager: leaving it stops the endpoint.

    Args:
        settings: what to serve, and how.
        source: finds newer versions.
        first: the release that is served first.
        notices: tells the operator of the endpoint.
        metrics: where :func:`~cocite_serve.metric_types.keep_in` keeps those of this process, until the endpoint stops.

    Attributes:
        metrics_url: where Prometheus reads its metrics; None before it listens.

    Example:
        :func:`start_here` returns a running one::

            with start_here(ServeSettings(index="index")) as endpoint:
                httpx.post(f"{endpoint.url}/v1/recommend", json={"title": "Neural machine translation"})

        >>> settings = ServeSettings(index="index", port=8080)
        >>> LocalEndpoint(settings, None, None, Notices(print), LocalMetrics()).url
        'http://127.0.0.1:8080'
    """

    def __init__(
        self,
        settings: ServeSettings,
        source: ReleaseSource,
        first: LockedRelease,
        notices: Notices,
        metrics: LocalMetrics,
    ) -> None:
        self.url = url_of(settings)
        self.metrics_url: str | None = None
        self._notices = notices
        self._metrics, self._metrics_port = metrics, settings.metrics_port
        self._loop = asyncio.new_event_loop()
        self._stages = LocalStages(settings, self._loop)
        self._watcher = Watcher(source, first, self._stages, notices)
        app = build_app(lambda: self._stages.backend, settings, log=open_log(settings.logs, "gateway"))
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=bounded_heads(settings.limits),
                host=settings.host,
                port=settings.port,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=round(settings.request_timeout_s) + 1,
            )
        )
        self._ended: Future[None] | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="http", daemon=True)

    @property
    def release(self) -> Release:
        """The release that is served now."""
        return self._watcher.served.release

    def begin(self) -> None:
        """Load the first release, listen, and look for newer versions from then on.

        Raises:
            RolloutError: the release cannot be loaded, or its answers are not sound.
            CociteError: the server cannot listen.
        """
        self._notices.listen()
        self._thread.start()
        self._stages.start(self.release)
        self._ended = asyncio.run_coroutine_threadsafe(self._serve(), self._loop)
        while not self._server.started:
            if self._ended.done():
                raise CociteError(
                    f"the endpoint does not listen at {self.url}", hint="the lines above say why"
                )
            time.sleep(0.01)
        self.metrics_url = self._metrics.serve(self._metrics_port)
        self._watcher.start()

    async def _serve(self) -> None:
        """Answer requests until the endpoint is stopped; return at once where it cannot listen."""
        # uvicorn has logged why. What it raises then would end the loop, and who waits for it would wait for ever.
        with suppress(SystemExit):
            await self._server.serve()

    def require_ray(self) -> None:
        """Do nothing: no Ray is needed."""

    def stop(self) -> None:
        """Answer the requests under way, and stop. A second call does nothing."""
        if self._loop.is_closed():
            return
        self._watcher.stop()
        self._server.should_exit = True
        if self._ended is not None:
            self._ended.result()
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()
        self._metrics.close()
        keep_in(None)
        self._watcher.unlock()
        gc.unfreeze()  # what the stages had loaded is garbage like any other
        exporting.flush()
        self._notices.close()

    def __enter__(self) -> LocalEndpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_here(settings: ServeSettings, *, notify: Notify = LOGGER.warning) -> LocalEndpoint:
    """Start the endpoint in this process and return when it answers.

    Args:
        settings: what to serve, and how.
        notify: takes a line when a newer version is served, or cannot be, and when the index knows of no citation.

    Raises:
        InputError: the port is taken, model and index do not fit, replicas or a second release are asked for, the log
            cannot be written, or the API keys cannot be read.
        CociteError: a stage cannot be loaded, or the server cannot listen.
    """
    for name in ("gateway", "retriever", "reranker"):
        part: ReplicaSettings = getattr(settings, name)
        if part.most != 1:
            raise InputError(
                f"one process has one {name}, got {part.most}",
                where=f"{name}.{'replicas' if part.replicas > 1 else 'max_replicas'}",
                hint="--on ray has several",
            )
    if settings.beside.is_named:
        raise InputError(
            "one process serves one release", where="beside", hint="--on ray serves a second one"
        )
    require_port(settings.host, settings.port, "--port")
    if settings.metrics_port:
        require_port("127.0.0.1", settings.metrics_port, "--metrics-port")
    os.environ.update(exporting.environment(settings.traces))
    for name, value in KERNEL_CACHES.items():
        os.environ.setdefault(name, value)
    exporting.start("cocite")
    notices = Notices(notify, settings.logs)
    source, first = lock_first(settings, notices)
    make_folder(settings.logs)
    metrics = LocalMetrics()
    keep_in(metrics)
    endpoint = LocalEndpoint(settings, source, first, notices, metrics)
    try:
        endpoint.begin()
    except BaseException:
        endpoint.stop()
        raise
    return endpoint
