"""The endpoint as applications of a Ray Serve config, for operators that deploy one, such as KubeRay's RayService.

Such a config names :func:`stages` and :func:`gateways` as ``import_path``, and :func:`beside_stages` where there is a
second release, and gives all the same ``args``: settings of :class:`~cocite_serve.settings.ServeSettings`. Host and
port are those of the config itself. The applications' names must be those of :mod:`cocite_serve.replicas.names`. What
is loaded stays: another version is another cluster, to which the operator moves the traffic. A release has to answer
its golden queries before the gateways are made, so that one that is not sound ends as ``DEPLOY_FAILED``, and the
operator leaves the traffic where it is. A second release that fails is left out. What became of each is in the log of
the task that builds the application, ``endpoint-N.jsonl``, in the form in which ``cocite serve`` keeps it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cocite.errors import CociteError, ConfigError
from cocite_serve.notices import LOGGER, Notice, Notices
from cocite_serve.release import Release, ReleaseSource
from cocite_serve.replicas.directions import Directions
from cocite_serve.replicas.names import BESIDE, STAGES, served_stages
from cocite_serve.rollouts.asked_stages import Asked, AskedStages
from cocite_serve.rollouts.beside import beside_source
from cocite_serve.rollouts.errors import RolloutError
from cocite_serve.rollouts.golden_trial import prove
from cocite_serve.settings import ServeSettings

if TYPE_CHECKING:
    from ray.serve import Application

WAIT_S = 1.0


def stages(args: dict[str, Any]) -> Application:
    """The two stages of the newest release, and the shards of its index if it has some.

    Args:
        args: settings of the endpoint, as the config has them.

    Raises:
        InputError: a setting is wrong, or model and index are missing or do not fit.
    """
    settings = parse(args)
    with _told(settings, "refused"):
        return _stages_of(ReleaseSource(settings), settings)


def beside_stages(args: dict[str, Any]) -> Application:
    """The stages of the release that ``beside`` names.

    Args:
        args: settings of the endpoint, as the config has them.

    Raises:
        ConfigError: they name no second release.
        InputError: as :func:`stages`; or it has no vectors where the served release has some.
    """
    settings = parse(args)
    source = beside_source(settings)
    if source is None:
        raise ConfigError("no second release is named: give beside.model or beside.index", where="args")
    with _told(settings, "refused_beside"):
        served = ReleaseSource(settings)
        locked = served.lock(served.newest())
        try:
            return _stages_of(source, settings, locked.release)
        finally:
            locked.unlock()


def gateways(args: dict[str, Any]) -> Application:
    """The gateways, once the stages run and have answered golden queries: a gateway looks for them when it starts.

    Args:
        args: settings of the endpoint, as the config has them.

    Raises:
        InputError: a setting is wrong.
        CociteError: the stages did not load, or not within ``watch.start_s``.
        RolloutError: their answers to golden queries are not those of a sound model.
    """
    from cocite_serve.replicas.applications import gateway_application

    settings = parse(args)
    deadline = time.monotonic() + settings.watch.start_s
    with _told(settings, "refused") as notices:
        _wait_for(STAGES, deadline, settings)
        served = served_stages()
        release = _prove(served, None, settings)
        beside = _proven_beside(served, deadline, settings, notices) if settings.beside.is_named else ""
        application = gateway_application(settings, Directions(served, beside=beside))
        notices(Notice(f"Serving {release} now.", outcome="served", release=release))
        return application


@contextmanager
def _told(settings: ServeSettings, outcome: str) -> Iterator[Notices]:
    """Keep what is said of releases in the operator's log; and where the block fails, ``outcome`` and why."""
    notices = Notices(LOGGER.warning, settings.logs)
    notices.listen()
    try:
        yield notices
    except CociteError as error:
        notices(_refusal(settings, outcome, error))
        raise
    finally:
        notices.close()


def _refusal(settings: ServeSettings, outcome: str, error: Exception) -> Notice:
    if outcome == "refused":
        name, where = f"{settings.model or 'no model'} over {settings.index}", "served"
    else:
        beside = settings.beside
        name = f"{beside.model or settings.model or 'no model'} over {beside.index or settings.index}"
        where = "loaded beside the served release"
    return Notice(f"{name} is not {where}: {error}", outcome=outcome, release=name, why=str(error))


def _prove(app: str, served: Asked | None, settings: ServeSettings) -> str:
    """Have the stages of an application answer golden queries; returns what they have loaded."""
    try:
        new = AskedStages.open(app, settings.watch.start_s)
    except TimeoutError as error:
        raise RolloutError("the stages do not answer") from error
    prove(new, served, settings, threading.Event())
    return str(new.release)


def _stages_of(source: ReleaseSource, settings: ServeSettings, served: Release | None = None) -> Application:
    from cocite_serve.replicas.applications import stages_application

    locked = source.lock(source.newest())
    try:
        locked.release.check(served)
        locked.release.warn_if_unproven(settings, LOGGER.warning)
        return stages_application(locked.release, settings)
    finally:
        locked.unlock()  # each replica locks what it opens


def _wait_for(prefix: str, deadline: float, settings: ServeSettings) -> str:
    """The application whose name begins so, as soon as it runs."""
    from ray import serve

    while True:
        apps = serve.status().applications
        found: dict[str, str] = {
            name: app.status.value for name, app in apps.items() if name.startswith(prefix)
        }
        if running := [name for name, status in found.items() if status == "RUNNING"]:
            return running[0]
        if {"DEPLOY_FAILED", "UNHEALTHY"}.intersection(found.values()):
            raise CociteError("the stages cannot be loaded", hint="their application's message says why")
        if time.monotonic() > deadline:
            raise CociteError(
                f"the stages were not loaded within {settings.watch.start_s:g} s",
                hint=f"does the config have an application whose name begins with {prefix}?",
            )
        time.sleep(WAIT_S)


def _proven_beside(served: str, deadline: float, settings: ServeSettings, notices: Notices) -> str:
    """The application of the second release, if it has answered golden queries; its failures do not harm the first."""
    try:
        beside = _wait_for(BESIDE, deadline, settings)
        release = _prove(beside, AskedStages.open(served, settings.watch.start_s), settings)
    except (CociteError, TimeoutError) as error:
        notices(_refusal(settings, "refused_beside", error))
        return ""
    notices(Notice(f"Beside the served release: {release}.", outcome="beside", release=release))
    return beside


def parse(args: dict[str, Any]) -> ServeSettings:
    """The settings in an application's ``args``.

    Example:
        >>> parse({"index": "/data/index", "reranker": {"num_gpus": 0.5}}).reranker.num_gpus
        0.5
        >>> parse({"index": "/data/index", "rerankr": {}})
        Traceback (most recent call last):
        ...
        cocite.errors.ConfigError: args: unknown key 'rerankr' (did you mean 'reranker'?)
    """
    return ServeSettings.parse(args, where="args")
