"""Starts and stops the endpoint, on a Ray of its own or on a cluster that runs already."""

from __future__ import annotations

import logging
import math
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from cocite.errors import CociteError, InputError
from cocite.ray_start import check_address, one_machine, ray_errors, start_patiently
from cocite_serve.batch_policy import batch_policy
from cocite_serve.json_log import make_folder
from cocite_serve.key_file import keys_in_force
from cocite_serve.loopback import HOOK
from cocite_serve.notices import LOGGER, Notices, Notify
from cocite_serve.private_ray import kill_workers, lost_process, run_unless_lost
from cocite_serve.proxy import CALLBACK, environment
from cocite_serve.release import LockedRelease, Release, ReleaseSource
from cocite_serve.rollouts.beside import BesideFollower, beside_source
from cocite_serve.rollouts.rollout import Rollout
from cocite_serve.rollouts.watcher import Watcher
from cocite_serve.settings import ServeSettings

NAMESPACE = "cocite"
ENDING = "ending"
"""File in a private Ray's folder by which its proxy knows that the endpoint is ending."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")

# Set before Ray starts, for all its processes; what is already set in the environment wins.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": CALLBACK,
    "RAY_SERVE_USE_GRPC_BY_DEFAULT": "1",
    # The HTTP proxy is started anew after the third failed check; by default that takes half a minute.
    "RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S": "0.1",
    # The controller looks at all replicas so often; ten times a second, the default, take 2 % of a core.
    "RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "0.2",
    # Workers that Ray starts before they are needed wake a hundred times a second, and an endpoint needs none.
    "RAY_prestart_worker_first_driver": "0",
}


class Endpoint:
    """A running endpoint. A context manager: leaving it stops the endpoint.

    Args:
        settings: what to serve, and how.
        source: finds newer versions.
        first: the release that is served first.
        temporary: folder of the private Ray that was started for this endpoint; None: it runs on a cluster.
        notices: tells the operator of the endpoint.

    Example:
        :func:`start` returns a running one::

            with start(ServeSettings(index="index")) as endpoint:
                httpx.post(f"{endpoint.url}/v1/recommend", json={"title": "Neural machine translation"})

        >>> settings = ServeSettings(index="index", host="::1", port=8080)
        >>> Endpoint(settings, source=None, first=None, temporary=None, notices=Notices(print)).url
        'http://[::1]:8080'
    """

    def __init__(
        self,
        settings: ServeSettings,
        source: ReleaseSource,
        first: LockedRelease,
        temporary: Path | None,
        notices: Notices,
    ) -> None:
        self.url = url_of(settings)
        self._temporary, self._notices = temporary, notices
        self._rollout = Rollout(settings)
        other = beside_source(settings)
        beside = None if other is None else BesideFollower(other, self._rollout, notices)
        self._watcher = Watcher(source, first, self._rollout, notices, beside)
        self._stopped = threading.Lock()

    @property
    def metrics_url(self) -> str | None:
        """Where Prometheus reads this endpoint's metrics; None on a cluster, each machine of which has its own."""
        if self._temporary is None:
            return None
        import ray

        [node] = ray.nodes()
        return f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"

    @property
    def release(self) -> Release:
        """The release that is served now."""
        return self._watcher.served.release

    def require_ray(self) -> None:
        """Check that the Ray that was started for this endpoint still runs.

        Raises:
            CociteError: it does not, so that no request is answered any more.
        """
        if self._temporary is not None and (lost := lost_process()) is not None:
            raise CociteError(
                f"Ray, which runs the endpoint, has lost its {lost}",
                hint="start the endpoint again; the system's log may say why, for example that memory was used up",
            )

    def stop(self, *, at_once: bool = False) -> None:
        """Stop the endpoint, and Ray with it when it was started for this. A second call does nothing.

        Args:
            at_once: no request can be under way. A private Ray then ends what runs on it, whatever state it is in.
        """
        # The lock is never released: of several threads that stop the endpoint, one does.
        if not self._stopped.acquire(blocking=False):
            return
        import ray

        if self._temporary is not None:
            with suppress(OSError):
                (self._temporary / ENDING).touch()
        try:
            if self._temporary is None:
                self._end_stages()
            elif at_once:
                self._watcher.stop()
            else:  # a signal to the whole process group ends Ray, too, which then answers no more
                run_unless_lost(self._end_stages)
        except CociteError:
            if self._temporary is None:  # a private Ray ends all that runs on it
                raise
        finally:
            if self._temporary is not None:
                if lost_process() is not None:
                    kill_workers()
                ray.shutdown()
                _remove(self._temporary)
            self._watcher.unlock()
            self._notices.close()

    def _end_stages(self) -> None:
        import ray

        self._watcher.stop()
        if ray.is_initialized():
            with ray_errors("the endpoint did not end", self._temporary or "Ray"):
                self._rollout.delete()

    def begin(self) -> None:
        """Load the first release, and look for newer versions from then on."""
        self._notices.listen()
        self._rollout.start(self.release)
        self._watcher.start()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def url_of(settings: ServeSettings) -> str:
    """Where an endpoint of these settings is asked on its own machine.

    Example:
        >>> url_of(ServeSettings(index="index", host="0.0.0.0", port=8080))
        'http://127.0.0.1:8080'
    """
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "localhost") else settings.host
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def start(
    settings: ServeSettings,
    *,
    address: str | None = None,
    quiet: bool = True,
    notify: Notify = LOGGER.warning,
    interrupted: threading.Event | None = None,
) -> Endpoint:
    """Start the endpoint and return when it answers.

    Args:
        settings: what to serve, and how.
        address: a Ray cluster to run on; a private one on this machine when None, which ends with the endpoint.
        quiet: keep the replicas' log lines out of this process' output; they are in Ray's log folder all the same.
        notify: takes a line when a newer version is served, or cannot be, and when the index knows of no citation.
        interrupted: set by the caller's signal handler. An interrupt that is raised while Ray forks its processes is
            lost, for Python ignores the errors of what it calls around a fork; this event is not.

    Raises:
        KeyboardInterrupt: the event was set while Ray came up.
        InputError: the port is taken, model and index do not fit, the log cannot be written, or
            the API keys cannot be read.
        CociteError: Ray does not come up, a stage cannot be loaded, or the two are of different versions.
    """
    require_port(settings.host, settings.port, "--port")
    if address is not None:
        check_address(address)
    elif settings.metrics_port:
        require_port("127.0.0.1", settings.metrics_port, "--metrics-port")
    notices = Notices(notify, settings.logs)
    source, first = lock_first(settings, notices)  # a missing file is an error before Ray is started
    if address is None:
        make_folder(settings.logs)
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with one_machine() if address is None else nullcontext():
        import ray
        from ray import serve
        from ray.serve.config import HTTPOptions, ProxyLocation

    temporary = Path(tempfile.mkdtemp(prefix="cocite-")) if address is None else None
    # A proxy on a cluster has the environment of that cluster.
    os.environ.update(environment(settings, None if temporary is None else temporary / ENDING))
    http = HTTPOptions(
        host=settings.host,
        port=settings.port,
        # The gateway gives up first, with a sentence; this limit is for a gateway that hangs.
        request_timeout_s=settings.request_timeout_s + 10,
    )
    endpoint = Endpoint(settings, source, first, temporary, notices)
    try:
        with ray_errors("the endpoint did not start", temporary or "Ray", longer="--set start_s=600"):
            if not ray.is_initialized():
                with _keep_sigterm():
                    start_patiently(
                        lambda: _connect(ray, settings, first.release.shards, address, temporary, quiet),
                        ray.shutdown,
                        settings.start_s,
                    )
            _check(interrupted)
            if quiet:
                logging.getLogger("ray.serve").setLevel(logging.WARNING)
            # A repeated call finds the controller that the first one started, and waits for it.
            start_patiently(
                lambda: serve.start(proxy_location=ProxyLocation.HeadOnly, http_options=http),
                int,
                settings.start_s,
            )
            _check(interrupted)
            endpoint.begin()
    except BaseException:
        with suppress(Exception):  # what kept it from starting matters more than what keeps it from stopping
            endpoint.stop(at_once=True)
        raise
    return endpoint


def lock_first(settings: ServeSettings, notify: Notify) -> tuple[ReleaseSource, LockedRelease]:
    """Where releases come from, and the one to serve first; what is to know of it is told.

    Args:
        settings: what to serve.
        notify: takes a line for each warning.

    Raises:
        InputError: model and index do not fit, or the API keys cannot be read.
    """
    from cocite.pipeline.components import exclusion_notes  # imports models: only where one starts

    source = ReleaseSource(settings)
    first = source.lock(source.newest())
    first.release.check()
    keys_in_force(settings.keys)
    if (cold := first.release.cold_history_warning()) is not None:
        notify(f"cocite: warning: {cold}")
    for note in exclusion_notes(first.release.model):
        notify(f"cocite: warning: {note}")
    first.release.warn_if_unproven(settings, notify)
    return source, first


def _check(interrupted: threading.Event | None) -> None:
    if interrupted is not None and interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _keep_sigterm() -> Iterator[None]:
    """Restore the caller's SIGTERM handler after the block: Ray installs its own, which raises SystemExit."""
    # Python lets the main thread alone change handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit as error:
        raise KeyboardInterrupt from error
    finally:
        signal.signal(signal.SIGTERM, handler)


def _connect(
    ray: Any, settings: ServeSettings, shards: int, address: str | None, temporary: Path | None, quiet: bool
) -> None:
    if address is not None:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=not quiet)
        return
    reserved = settings.gateway.most * settings.gateway.num_cpus
    for stage in (settings.retriever, settings.reranker, *shards * (settings.shards,)):
        # Twice: a new release loads beside the old one. And of the release beside the served one too.
        releases = 4 if settings.beside.is_named else 2
        reserved += releases * stage.most * stage.num_cpus
    with batch_policy():
        ray.init(
            address="local",
            namespace=NAMESPACE,
            # More than the machine has, if need be: Ray would leave replicas without reserved cores pending for ever.
            num_cpus=max(os.cpu_count() or 1, math.ceil(reserved) + 1),
            include_dashboard=False,
            log_to_driver=not quiet,
            logging_level=logging.ERROR if quiet else logging.INFO,
            _temp_dir=str(temporary),
            # Ray's metrics agent takes a free port where none is named.
            _metrics_export_port=settings.metrics_port or None,
            runtime_env=_first_call(ray),
        )


def _first_call(ray: Any) -> dict[str, str]:
    """What the processes of a private Ray call first, for its ``runtime_env``.

    Where a program has imported Ray before, the node has another address than the loopback one, and there the replicas
    are asked.
    """
    return {"worker_process_setup_hook": HOOK} if ray.util.get_node_ip_address() in LOOPBACK else {}


def _remove(folder: Path) -> None:
    """Remove Ray's folder; its last processes may still write to their logs, so this may need several attempts."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def require_port(host: str, port: int, option: str) -> None:
    """Refuse a taken port before a Ray is started for it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As the server sets it: the port of an endpoint that has just ended is free to it.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"cannot listen on {host}:{port}: {error.strerror}",
                where=option,
                hint="choose another port",
            ) from error
