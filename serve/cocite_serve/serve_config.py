"""The endpoint as applications of a Ray Serve config, for operators that deploy one, such as KubeRay's RayService.

Such a config names :func:`stages` and :func:`gateways` as ``import_path``, and gives both the same ``args``: settings
of :class:`~cocite_serve.settings.ServeSettings`. Host and port are those of the config itself. The applications' names
must be those of :mod:`cocite_serve.replicas.names`. What is loaded stays: another version is another cluster, to which
the operator moves the traffic. A release has to answer its golden queries before the gateways are made, so that one
that is not sound ends as ``DEPLOY_FAILED``, and the operator leaves the traffic where it is.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from cocite.errors import CociteError, ConfigError
from cocite_serve.release import ReleaseSource
from cocite_serve.replicas.names import STAGES, served_stages
from cocite_serve.rollouts.golden_trial import prove_stages
from cocite_serve.settings import ServeSettings

if TYPE_CHECKING:
    from ray.serve import Application

LOG = logging.getLogger("cocite.serve")
WAIT_S = 1.0


def stages(args: dict[str, Any]) -> Application:
    """The two stages of the newest release, and the shards of its index if it has some.

    Args:
        args: settings of the endpoint, as the config has them.

    Raises:
        InputError: a setting is wrong, or model and index are missing or do not fit.
    """
    from cocite_serve.replicas.applications import stages_application

    settings = parse(args)
    source = ReleaseSource(settings)
    locked = source.lock(source.newest())
    try:
        locked.release.check()
        locked.release.warn_if_unproven(settings, LOG.warning)
        return stages_application(locked.release, settings)
    finally:
        locked.unlock()  # each replica locks what it opens


def gateways(args: dict[str, Any]) -> Application:
    """The gateways, once the stages run and have answered golden queries: a gateway looks for them when it starts.

    Args:
        args: settings of the endpoint, as the config has them.

    Raises:
        InputError: a setting is wrong.
        CociteError: the stages did not load, or not within ``watch.start_s``.
        RolloutError: their answers to golden queries are not those of a sound model.
    """
    from ray import serve

    from cocite_serve.replicas.applications import gateway_application

    settings = parse(args)
    deadline = time.monotonic() + settings.watch.start_s
    while True:
        apps = {name: app for name, app in serve.status().applications.items() if name.startswith(STAGES)}
        statuses = {str(app.status.value) for app in apps.values()}
        if "RUNNING" in statuses:
            prove_stages(served_stages(), None, settings, threading.Event())
            return gateway_application(settings)
        if statuses & {"DEPLOY_FAILED", "UNHEALTHY"}:
            raise CociteError("the stages cannot be loaded", hint="their application's message says why")
        if time.monotonic() > deadline:
            raise CociteError(
                f"the stages were not loaded within {settings.watch.start_s:g} s",
                hint=f"does the config have an application whose name begins with {STAGES}?",
            )
        time.sleep(WAIT_S)


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
    settings = ServeSettings.parse(args, where="args")
    if settings.beside.is_named:
        raise ConfigError(
            "a second release is loaded by `cocite serve` alone, which watches it", where="args.beside"
        )
    return settings
