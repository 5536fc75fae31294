"""Loads releases on Ray Serve: the next one beside the one that is served. It is tried, then the gateways turn to it.

First it answers golden queries, then a share of the requests, where the gateways count and time both releases. What it
fails to answer the served one answers. No request is lost: those that began with the old stages end there, and the old
stages are deleted when none can be left.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from cocite.errors import CociteError
from cocite.ray_start import ray_errors
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.notices import LOGGER
from cocite_serve.release import Release
from cocite_serve.replicas.directions import Directions
from cocite_serve.replicas.names import BESIDE, GATEWAYS, STAGES, stages_number
from cocite_serve.rollouts.asked_stages import Asked, AskedStages
from cocite_serve.rollouts.canary_run import run_canary
from cocite_serve.rollouts.errors import RolloutError, last_line
from cocite_serve.rollouts.gateway_tallies import GatewayTallies
from cocite_serve.rollouts.golden_trial import GoldenTrial, prove_stages
from cocite_serve.settings import ServeSettings

REPLY_S = 5.0
"""Seconds within which the stages that are served have to say what they are."""


class Rollout:
    """The applications that run on Ray Serve: gateways and the stages of one release; during a rollout, of two.

    Args:
        settings: of the endpoint.

    Example:
        On a connected Ray with a started Serve, :mod:`cocite_serve.endpoint` does::

            rollout = Rollout(settings)
            rollout.start(first)
            rollout.switch_to(second)   # most requests are answered by the first until this returns
            rollout.delete_old_stages()
            rollout.delete()

        >>> rollout = Rollout(ServeSettings(index="index"))
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._stages = self._beside = ""
        self._highest = 0
        self._refused: tuple[RefusedRelease, ...] = ()
        self._interrupted = threading.Event()

    def start(self, release: Release) -> None:
        """Load a release and start the gateways before it.

        Raises:
            RolloutError: a stage cannot be loaded, the two are of different versions, or the answers to golden queries
                are not those of a sound model.
        """
        from ray import serve

        from cocite_serve.replicas.applications import gateway_application

        stages = self._load(release)
        try:
            self._try_golden(stages, None)
        except Exception:  # whoever is interrupted calls `delete`
            _give_up(stages)
            raise
        self._stages = stages
        try:
            serve.run(
                gateway_application(self._settings, Directions(stages)), name=GATEWAYS, route_prefix="/"
            )
        except RuntimeError as error:
            raise RolloutError(_failure(GATEWAYS, str(error))) from error
        self._delete_other_stages()  # an endpoint that was killed leaves them on a cluster
        self._delete_all(BESIDE)

    def switch_to(self, release: Release) -> None:
        """Load another release beside the present one, try it, and turn all gateways to it; else nothing changes.

        Raises:
            RolledBackError: in the canary it failed, or was too slow.
            RolloutError: see :meth:`start`; or it differs too much from the release that is served now.
        """
        self._delete_other_stages()  # what an earlier attempt could not delete
        stages = self._load(release)
        try:
            trial = self._try_golden(stages, self._served())
            if self._settings.rollout.has_canary:
                self._run_canary(stages, trial)
            try:
                self._direct(Directions(stages, refused=self._refused, beside=self._beside))
            except Exception as error:
                raise RolloutError(
                    f"the gateways could not turn to it: {last_line(error) or repr(error)}"
                ) from error
        except BaseException:
            # Some of the gateways may know it already; one that is away must not hide why it was refused.
            self.tell(self._refused)
            _give_up(stages)
            raise
        self._stages = stages

    def put_beside(self, release: Release) -> None:
        """Load a release beside the served one, try it, and tell the gateways; else nothing changes.

        It answers golden queries as a newer release does, and takes no part in a canary.

        Raises:
            RolloutError: see :meth:`start`; or it differs too much from the release that is served now.
        """
        self._delete_all(BESIDE)  # what an earlier call could not delete
        stages = self._load(release, BESIDE)
        try:
            self._try_golden(stages, self._served())
        except BaseException:
            _give_up(stages)
            raise
        old, self._beside = self._beside, stages
        self.tell(self._refused)
        if old:
            self._interrupted.wait(self._settings.request_timeout_s + 1)  # requests may be with it
            # The new one answers all the same; the caller unlocks the old one's files next.
            _give_up(old, wait=True)

    def tell(self, refused: tuple[RefusedRelease, ...]) -> None:
        """Tell all gateways which newer releases are refused; and those that started anew, what is served.

        One that is just being started anew cannot be told; the caller tells it again at its next look.
        """
        self._refused = refused
        try:
            self._direct(Directions(self._stages, refused=refused, beside=self._beside))
        except Exception as error:
            LOGGER.warning("a gateway was not told what is served: %s", last_line(error) or repr(error))

    def delete_old_stages(self) -> None:
        """Delete the stages of earlier releases, once no request can be with them."""
        self._interrupted.wait(self._settings.request_timeout_s + 1)
        self.tell(self._refused)  # one that was started anew meanwhile
        self._delete_other_stages()

    def interrupt(self) -> None:
        """End every wait of a rollout at once: another thread is about to delete what runs."""
        self._interrupted.set()

    @property
    def is_interrupted(self) -> bool:
        """Whether the endpoint is being ended: what fails now says nothing against a release."""
        return self._interrupted.is_set()

    def delete(self) -> None:
        """Delete everything; the requests under way are answered first."""
        self.interrupt()
        _delete(GATEWAYS)
        self._stages = self._beside = ""
        self._delete_other_stages()
        self._delete_all(BESIDE)

    def _load(self, release: Release, prefix: str = STAGES) -> str:
        """Start the stages of a release; returns the name of their application when they are loaded."""
        from ray import serve

        from cocite_serve.replicas.applications import stages_application

        names = [name for name in serve.status().applications if name.startswith((STAGES, BESIDE))]
        numbers = [stages_number(name) for name in names]
        # Above every number that runs or ran: gateways that start anew take the lowest that runs.
        self._highest = max([self._highest, *numbers]) + 1
        name = f"{prefix}{self._highest}"
        try:
            with ray_errors("the stages were not started", "Ray"):
                serve.run_many(
                    [serve.RunTarget(stages_application(release, self._settings), name, None)],
                    wait_for_applications_running=False,
                )
            # Serve's own wait has no limit of ours, and no interrupt ends it.
            self._wait_for(serve, name)
        except Exception:
            # Stages that came up by half would hold cores that the next attempt needs.
            _give_up(name)
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

    def _served(self) -> Asked | None:
        """The stages that are served now; None: they do not answer, and a new release need not be like them."""
        try:
            return AskedStages.open(self._stages, REPLY_S)
        except Exception:
            LOGGER.exception("the release that is served now does not answer")
            return None

    def _try_golden(self, stages: str, served: Asked | None) -> GoldenTrial:
        return prove_stages(stages, served, self._settings, self._interrupted)

    def _run_canary(self, stages: str, trial: GoldenTrial) -> None:
        """Let a release answer a share of the requests for a while; where there are none, golden queries.

        Raises:
            RolledBackError: it failed, or was too slow.
        """
        settings = self._settings.rollout
        self._direct(
            Directions(
                self._stages,
                stages,
                settings.canary_share,
                settings.timeout_s,
                self._refused,
                self._beside,
            )
        )
        run_canary(GatewayTallies().newest, trial, settings, self._interrupted)

    def _direct(self, directions: Directions) -> None:
        """Have all gateways do as directed."""
        from ray import serve

        replies = serve.get_app_handle(GATEWAYS).broadcast("follow", directions)
        replies.results(timeout_s=self._settings.watch.start_s)

    def _delete_other_stages(self) -> None:
        """Delete all stages but those that are served."""
        self._delete_all(STAGES)

    def _delete_all(self, prefix: str) -> None:
        """Delete the applications of a kind, but for those that answer."""
        from ray import serve

        for name in serve.status().applications:
            if name.startswith(prefix) and name not in (self._stages, self._beside):
                _delete(name)


def _give_up(stages: str, *, wait: bool = False) -> None:
    """Begin to delete stages that are not served, or delete them; where that fails, the next attempt deletes them.

    One that hangs ends after its ``graceful_shutdown_timeout_s``. A wait for that, which Ray Serve ends with an error
    after 60 s, would delay or hide why the release is refused; and where that is not known, the release is tried again.
    """
    try:
        _delete(stages, wait=wait)
    except Exception:
        LOGGER.exception("the stages of a release that is not served were not deleted")


def _delete(app: str, *, wait: bool = True) -> None:
    """Delete an application; with ``wait``, return when it is deleted.

    Raises:
        CociteError: it is still being deleted after the time for which Ray Serve waits.
    """
    from ray import serve

    if app in serve.status().applications:
        try:
            serve.delete(app, _blocking=wait)
        except TimeoutError as error:
            raise CociteError(
                f"the application {app} is still being deleted",
                hint="a stage that hangs ends five seconds after request_timeout_s",
            ) from error


def _failure(app: str, fallback: str) -> str:
    """The last line of what kept a deployment of an application from starting."""
    from ray import serve

    try:
        for deployment in serve.status().applications[app].deployments.values():
            if "FAILED" in str(deployment.status) or "UNHEALTHY" in str(deployment.status):
                return last_line(deployment.message) or fallback
    except KeyError:
        pass
    return fallback
