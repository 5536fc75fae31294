"""The Ray Serve applications: the gateways, and the two stages of a release with the shards of its index.

The stages of a release are an application of their own, without a route; the gateways are another, which stays. So a
new release loads beside the old one, the gateways switch to it between two requests, and each request is answered by
the release that it began with.
"""

from __future__ import annotations

import os
from typing import Any

from ray import serve
from ray.serve import Application, Deployment
from ray.serve.config import AutoscalingConfig, BackpressureConfig

from cocite.verification import SWITCH
from cocite_serve.release import Release
from cocite_serve.replicas.gateway import Gateway
from cocite_serve.replicas.shards import Shard, ShardHandles
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.settings import ServeSettings, StageSettings


def gateway_application(settings: ServeSettings) -> Application:
    """The application that answers HTTP requests, for ``serve.run`` once stages run."""
    gateway = serve.deployment(
        Gateway,
        num_replicas=settings.gateway.replicas,
        max_ongoing_requests=settings.gateway.max_ongoing_requests,
        max_queued_requests=settings.gateway.max_queued_requests,
        backpressure_config=_backpressure(settings),
        max_constructor_retry_count=1,
        ray_actor_options=_actor_options(settings.gateway.num_cpus, 0),
    )
    return gateway.bind(settings)


def stages_application(release: Release, settings: ServeSettings) -> Application:
    """The application of a release's two stages, and of the shards of its index if it has some; without a route."""
    shards = _shards(release, settings)
    retriever = _stage_deployment(Retriever, settings.retriever, settings).bind(release, *shards)
    return _stage_deployment(Reranker, settings.reranker, settings).bind(release, retriever, *shards)


def _shards(release: Release, settings: ServeSettings) -> tuple[ShardHandles, ...]:
    """The shards of a release, each a deployment; nothing where its index is searched whole."""
    if not release.shards:
        return ()
    handles: Any = tuple(  # Serve puts handles in the place of what is bound
        _stage_deployment(
            Shard,
            settings.shards,
            settings,
            name=f"Shard-{number + 1}-of-{release.shards}",
            # A dead replica is seen, and replaced, after so long; requests do without it meanwhile.
            health_check_period_s=2,
            health_check_timeout_s=30,
            logging_config={"enable_access_log": False},  # a line for each of two calls of each request
            graceful_shutdown_timeout_s=max(20.0, 2 * settings.shards.round_s),
        ).bind(release, number)
        for number in range(release.shards)
    )
    return (ShardHandles(handles, settings.shards.round_s, settings.shards.policy, settings.watch.start_s),)


def _stage_deployment(cls: type, stage: StageSettings, settings: ServeSettings, **more: Any) -> Deployment:
    scaling: dict[str, Any] = {"num_replicas": stage.replicas}
    if stage.max_replicas is not None and stage.max_replicas > stage.replicas:
        scaling = {
            "autoscaling_config": AutoscalingConfig(
                min_replicas=stage.replicas,
                max_replicas=stage.max_replicas,
                # A replica takes long to load, so one more is started before those that run are full.
                target_ongoing_requests=max(1, stage.max_ongoing_requests // 2),
                upscale_delay_s=5,
                downscale_delay_s=120,
            )
        }
    return serve.deployment(
        cls,
        **scaling,
        **more,
        max_ongoing_requests=stage.max_ongoing_requests,
        max_queued_requests=stage.max_queued_requests,
        backpressure_config=_backpressure(settings),
        # A model that cannot be loaded cannot be loaded the second time either.
        max_constructor_retry_count=1,
        ray_actor_options=_actor_options(stage.num_cpus, stage.num_gpus),
    )


def _backpressure(settings: ServeSettings) -> BackpressureConfig:
    """The response to a request that is refused because too many wait."""
    return BackpressureConfig(status_code=429, retry_after_s=settings.retry_after_s)


def _actor_options(num_cpus: float, num_gpus: float) -> dict[str, Any]:
    """Ray's options of a replica's process: what it reserves, and an environment of one thread."""
    environment = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    # A stage asks shards from its computing thread; Serve's handles allow that while their router has its own loop.
    environment["RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP"] = "1"
    # On a cluster the process is not a child of this one and would not inherit the switch.
    environment |= {name: os.environ[name] for name in (SWITCH,) if name in os.environ}
    return {"num_cpus": num_cpus, "num_gpus": num_gpus, "runtime_env": {"env_vars": environment}}
