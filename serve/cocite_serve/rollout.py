"""Brings releases up on Ray Serve: the next one beside the present one, then the gateways turn to it.

No request is lost: those that began with the old stages end there, and the old stages go when none can be left.
"""

from __future__ import annotations

import re
import threading
import time
from typing import Any

from cocite.errors import CociteError
from cocite.ray_start import ray_errors
from cocite_serve.releases import Release
from cocite_serve.settings import ServeSettings


class RolloutError(CociteError):
    """A release did not come up."""


class Rollout:
    """What runs on Ray Serve: gateways, and the stages of one release, for a while of two.

    Args:
        settings: of the endpoint.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._stages = ""
        self._ended = threading.Event()

    def start(self, release: Release) -> None:
        """Load a release, and let gateways speak for it.

        Raises:
            RolloutError: a stage cannot be loaded, or the two are of different versions.
        """
        from ray import serve

        from cocite_serve.deployments import APP, gateways

        self._stages = self._load(release)
        try:
            serve.run(gateways(self._settings), name=APP, route_prefix="/")
        except RuntimeError as error:
            raise RolloutError(_reason(APP, str(error))) from error
        self._delete_others()  # an endpoint that was killed leaves them on a cluster

    def turn(self, release: Release) -> None:
        """Load another release beside the present one and turn all gateways to it; if that fails, nothing changes.

        Raises:
            RolloutError: see :meth:`start`.
        """
        self._delete_others()  # what an earlier attempt could not end
        stages = self._load(release)
        try:
            self._turn_gateways(stages)
        except Exception as error:
            self._turn_gateways(self._stages)
            _delete(stages)
            raise RolloutError(f"the gateways could not turn to it: {_last_line(error)}") from error
        self._stages = stages

    def retire(self) -> None:
        """End the stages of releases that were turned away from, once no request can be with them."""
        self._ended.wait(self._settings.request_timeout_s + 1)
        self._turn_gateways(self._stages)  # one that was started anew meanwhile
        self._delete_others()

    def interrupt(self) -> None:
        """Wait for nothing more; another thread is to end what runs."""
        self._ended.set()

    def delete(self) -> None:
        """End everything; the requests under way are answered first."""
        from cocite_serve.deployments import APP

        self.interrupt()
        _delete(APP)
        self._stages = ""
        self._delete_others()

    def _load(self, release: Release) -> str:
        """Start the stages of a release; returns the name of their application when they are loaded."""
        from ray import serve

        from cocite_serve.deployments import STAGES, number_of, stages

        before = [number_of(name) for name in serve.status().applications if name.startswith(STAGES)]
        name = f"{STAGES}{max(before, default=0) + 1}"
        try:
            with ray_errors("the stages were not started", "Ray"):
                serve.run_many(
                    [serve.RunTarget(stages(release, self._settings), name, None)],
                    wait_for_applications_running=False,
                )
            self._wait(serve, name)
        except BaseException:
            _delete(name)
            raise
        return name

    def _wait(self, serve: Any, name: str) -> None:
        deadline = time.monotonic() + self._settings.watch.start_s
        while time.monotonic() < deadline:
            status = serve.status().applications[name].status
            if status == "RUNNING":
                return
            if status in ("DEPLOY_FAILED", "UNHEALTHY"):
                raise RolloutError(_reason(name, "a stage cannot be loaded"))
            if self._ended.wait(0.1):
                raise RolloutError("the endpoint was ended before the stages were loaded")
        raise RolloutError(
            f"the stages were not loaded within {self._settings.watch.start_s:g} s",
            hint="Ray must have room for them beside those that run; watch.start_s gives them longer",
        )

    def _turn_gateways(self, stages: str) -> None:
        from ray import serve

        from cocite_serve.deployments import APP

        serve.get_app_handle(APP).broadcast("turn", stages).results(timeout_s=self._settings.watch.start_s)

    def _delete_others(self) -> None:
        """End all stages but those that are served."""
        from ray import serve

        from cocite_serve.deployments import STAGES

        for name in serve.status().applications:
            if name.startswith(STAGES) and name != self._stages:
                _delete(name)


def _delete(app: str) -> None:
    from ray import serve

    if app in serve.status().applications:
        serve.delete(app)


def _reason(app: str, fallback: str) -> str:
    """The last line of what kept a deployment from starting."""
    from ray import serve

    try:
        for deployment in serve.status().applications[app].deployments.values():
            if "FAILED" in str(deployment.status) or "UNHEALTHY" in str(deployment.status):
                return _last_line(deployment.message) or fallback
    except KeyError:
        pass
    return fallback


def _last_line(text: object) -> str:
    """The last line of a traceback; of an error of cocite's, the sentence alone."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return re.sub(r"^cocite\.errors\.\w+: ", "", lines[-1]) if lines else ""
