"""Loads releases on Ray Serve: the next one beside the one that is served, then the gateways switch to it.

No request is lost: those that began with the old stages end there, and the old stages are deleted when none can be
left.
"""

from __future__ import annotations

import re
import threading
import time
from typing import Any

from cocite.errors import CociteError
from cocite.ray_start import ray_errors
from cocite_serve.release import Release
from cocite_serve.replicas.names import GATEWAYS, STAGES, stages_number
from cocite_serve.settings import ServeSettings


class RolloutError(CociteError):
    """A release did not come up.

    Example:
        >>> print(RolloutError("a stage cannot be loaded", hint="the server's log says why"))
        a stage cannot be loaded (the server's log says why)
    """


class Rollout:
    """The applications that run on Ray Serve: gateways and the stages of one release; during a rollout, of two.

    Args:
        settings: of the endpoint.

    Example:
        On a connected Ray with a started Serve, :mod:`cocite_serve.endpoint` does::

            rollout = Rollout(settings)
            rollout.start(first)
            rollout.switch_to(second)   # requests are answered by the first until this returns
            rollout.delete_old_stages()
            rollout.delete()

        >>> rollout = Rollout(ServeSettings(index="index"))
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._stages = ""
        self._interrupted = threading.Event()

    def start(self, release: Release) -> None:
        """Load a release and start the gateways before it.

        Raises:
            RolloutError: a stage cannot be loaded, or the two are of different versions.
        """
        from ray import serve

        from cocite_serve.replicas.applications import gateway_application

        self._stages = self._load(release)
        try:
            serve.run(gateway_application(self._settings), name=GATEWAYS, route_prefix="/")
        except RuntimeError as error:
            raise RolloutError(_failure(GATEWAYS, str(error))) from error
        self._delete_other_stages()  # an endpoint that was killed leaves them on a cluster

    def switch_to(self, release: Release) -> None:
        """Load another release beside the present one and switch all gateways to it; if that fails, nothing changes.

        Raises:
            RolloutError: see :meth:`start`.
        """
        self._delete_other_stages()  # what an earlier attempt could not delete
        stages = self._load(release)
        try:
            self._switch_gateways(stages)
        except Exception as error:
            # Some of the gateways may have switched before one failed.
            self._switch_gateways(self._stages)
            _delete(stages)
            raise RolloutError(f"the gateways could not turn to it: {_last_line(error)}") from error
        self._stages = stages

    def delete_old_stages(self) -> None:
        """Delete the stages of earlier releases, once no request can be with them."""
        self._interrupted.wait(self._settings.request_timeout_s + 1)
        self._switch_gateways(self._stages)  # one that was started anew meanwhile
        self._delete_other_stages()

    def interrupt(self) -> None:
        """End every wait of a rollout at once: another thread is about to delete what runs."""
        self._interrupted.set()

    def delete(self) -> None:
        """Delete everything; the requests under way are answered first."""
        self.interrupt()
        _delete(GATEWAYS)
        self._stages = ""
        self._delete_other_stages()

    def _load(self, release: Release) -> str:
        """Start the stages of a release; returns the name of their application when they are loaded."""
        from ray import serve

        from cocite_serve.replicas.applications import stages_application

        numbers = [stages_number(name) for name in serve.status().applications if name.startswith(STAGES)]
        # Above every number that runs: gateways that start anew take the highest.
        name = f"{STAGES}{max(numbers, default=0) + 1}"
        try:
            with ray_errors("the stages were not started", "Ray"):
                serve.run_many(
                    [serve.RunTarget(stages_application(release, self._settings), name, None)],
                    wait_for_applications_running=False,
                )
            # Serve's own wait has no limit of ours, and no interrupt ends it.
            self._wait_for(serve, name)
        except BaseException:
            # Stages that came up by half would hold cores that the next attempt needs.
            _delete(name)
            raise
        return name

    def _wait_for(self, serve: Any, name: str) -> None:
        """Return when an application runs."""
        deadline = time.monotonic() + self._settings.watch.start_s
        while time.monotonic() < deadline:
            status = serve.status().applications[name].status
            if status == "RUNNING":
                return
            if status in ("DEPLOY_FAILED", "UNHEALTHY"):
                raise RolloutError(_failure(name, "a stage cannot be loaded"))
            if self._interrupted.wait(0.1):
                raise RolloutError("the endpoint was ended before the stages were loaded")
        raise RolloutError(
            f"the stages were not loaded within {self._settings.watch.start_s:g} s",
            hint="Ray must have room for them beside those that run; watch.start_s gives them longer",
        )

    def _switch_gateways(self, stages: str) -> None:
        from ray import serve

        replies = serve.get_app_handle(GATEWAYS).broadcast("switch_to", stages)
        replies.results(timeout_s=self._settings.watch.start_s)

    def _delete_other_stages(self) -> None:
        """Delete all stages but those that are served."""
        from ray import serve

        for name in serve.status().applications:
            if name.startswith(STAGES) and name != self._stages:
                _delete(name)


def _delete(app: str) -> None:
    from ray import serve

    if app in serve.status().applications:
        serve.delete(app)


def _failure(app: str, fallback: str) -> str:
    """The last line of what kept a deployment of an application from starting."""
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
