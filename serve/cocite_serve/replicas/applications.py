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
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, BackpressureConfig, RequestRouterConfig

from cocite import verification
from cocite.nn.variables import KERNEL_CACHES, PRECISION
from cocite_serve.release import Release
from cocite_serve.replica_settings import ReplicaSettings
from cocite_serve.replicas import asking_again, kept_lines
from cocite_serve.replicas.autoscaling import ByQueuedWork
from cocite_serve.replicas.clicks import ClickCounter
from cocite_serve.replicas.directions import ANY_STAGES, Directions
from cocite_serve.replicas.gateway import Gateway
from cocite_serve.replicas.health import PERIOD_S, TIMEOUT_S
from cocite_serve.replicas.shards import Shard, ShardHandles
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.settings import QueueSettings, ServeSettings, ShardSettings
from cocite_serve.tracing import exporting

LOG_LINES: dict[str, Any] = {"encoding": "JSON"}
"""How replicas write their own lines: with the request's id as a field."""

CLICKS_AT_ONCE = 1_000


def gateway_application(settings: ServeSettings, first: Directions = ANY_STAGES) -> Application:
    """The application that answers HTTP requests, for ``serve.run`` once stages run.

    Args:
        settings: of the endpoint.
        first: what a gateway does until it is directed otherwise.
    """
    gateway = serve.deployment(
        Gateway,
        **_scaling(settings.gateway, target_ongoing_requests=settings.gateway.target_requests),
        # Twice as many, so that the gateway itself refuses one too many, as every other refusal reads.
        max_ongoing_requests=2 * settings.gateway.max_requests,
        max_queued_requests=settings.gateway.max_requests,
        backpressure_config=_backpressure(settings),
        max_constructor_retry_count=1,
        logging_config=LOG_LINES,
        **_noticing(settings),
        ray_actor_options=_actor_options(settings.gateway.num_cpus, 0, settings),
    )
    if settings.beside.traffic != "interleave":
        return gateway.bind(settings, first)
    counter = serve.deployment(
        ClickCounter,
        # One, so that all clicks on an answer are counted together: nor does a second one run beside it for a while.
        num_replicas=1,
        **_noticing(settings) | {"max_surge_percent": 0},
        max_ongoing_requests=CLICKS_AT_ONCE,
        max_queued_requests=CLICKS_AT_ONCE,
        backpressure_config=_backpressure(settings),
        logging_config=LOG_LINES | {"enable_access_log": False},
        ray_actor_options=_actor_options(0.01, 0, settings),
    )
    return gateway.bind(settings, first, counter.bind())


def stages_application(release: Release, settings: ServeSettings) -> Application:
    """The application of a release's stages, and of the shards of its index if it has some; without a route.

    Its ingress is the reranker, or the retriever where the model has no cross-encoder: nothing would call a reranker.
    """
    shards = _shards(release, settings)
    # Not for shards: a search goes on without one that does not answer, before Ray Serve removes it.
    again = {"request_router_config": RequestRouterConfig(request_router_class=asking_again.PATH)}
    retriever = _stage_deployment(Retriever, settings.retriever, settings, **again).bind(
        release, *shards, settings=settings.retriever
    )
    if not release.has_cross_encoder:
        return retriever
    return _stage_deployment(Reranker, settings.reranker, settings, **again).bind(
        release, retriever, *shards, settings=settings.reranker
    )


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
            # Otherwise each writes a line for each of two calls of each request.
            logging_config=LOG_LINES | {"enable_access_log": False},
            graceful_shutdown_timeout_s=max(20.0, 2 * settings.shards.round_s),
        ).bind(release, number, settings.shards.stuck_s)
        for number in range(release.shards)
    )
    return (ShardHandles(handles, settings.shards.round_s, settings.shards.policy, settings.watch.start_s),)


def _stage_deployment(
    cls: type, stage: QueueSettings | ShardSettings, settings: ServeSettings, **more: Any
) -> Deployment:
    return serve.deployment(
        cls,
        **_scaling(stage, **_scaled_by(stage)),
        **({"logging_config": LOG_LINES} | _noticing(settings) | more),
        max_ongoing_requests=stage.max_ongoing_requests,
        max_queued_requests=stage.max_queued_requests,
        backpressure_config=_backpressure(settings),
        # A model that cannot be loaded cannot be loaded the second time either.
        max_constructor_retry_count=1,
        ray_actor_options=_actor_options(stage.num_cpus, stage.num_gpus, settings),
    )


def _scaling(part: ReplicaSettings, **by: Any) -> dict[str, Any]:
    """How many replicas there are of a part, and ``by`` what there are more where it may have more."""
    if part.most == part.replicas:
        return {"num_replicas": part.replicas}
    return {
        "autoscaling_config": AutoscalingConfig(
            min_replicas=part.replicas,
            max_replicas=part.most,
            # A replica takes long to load, so one more is started before those that run are full.
            upscale_delay_s=5,
            downscale_delay_s=120,
            **by,
        )
    }


def _scaled_by(stage: QueueSettings | ShardSettings) -> dict[str, Any]:
    """What decides on the number of replicas: the work in the stage's queue, or else its requests."""
    if isinstance(stage, QueueSettings):
        policy = AutoscalingPolicy(
            policy_function=f"{ByQueuedWork.__module__}:{ByQueuedWork.__name__}",
            policy_kwargs={"target_wait_s": stage.target_wait_s},
        )
        return {"policy": policy, "look_back_period_s": 10}
    return {"target_ongoing_requests": stage.target_requests}


def _noticing(settings: ServeSettings) -> dict[str, Any]:
    """When Ray Serve notices that a replica is gone, and how one ends."""
    return {
        "health_check_period_s": PERIOD_S,
        "health_check_timeout_s": TIMEOUT_S,
        # A replica of an old release ends when the requests inside it are answered or given up.
        "graceful_shutdown_timeout_s": max(20.0, settings.request_timeout_s + 5),
        # Where Serve replaces the replicas of one deployment, one more runs first: no request finds none.
        "max_surge_percent": 100,
    }


def _backpressure(settings: ServeSettings) -> BackpressureConfig:
    """The response to a request that is refused because too many wait."""
    return BackpressureConfig(status_code=429, retry_after_s=settings.retry_after_s)


def _actor_options(num_cpus: float, num_gpus: float, settings: ServeSettings) -> dict[str, Any]:
    """Ray's options of a replica's process: what it reserves, and an environment of one thread."""
    environment = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    # A stage asks shards from its computing thread; Serve's handles allow that while their router has its own loop.
    environment["RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP"] = "1"
    environment["RAY_SERVE_USE_GRPC_BY_DEFAULT"] = "1"
    environment |= {name: os.environ.get(name, value) for name, value in KERNEL_CACHES.items()}
    # On a cluster the process is not a child of this one and would not inherit the switches.
    switches = PRECISION, verification.SWITCH
    environment |= {name: os.environ[name] for name in switches if name in os.environ}
    environment |= exporting.environment(settings.traces) | kept_lines.environment(settings.logs)
    return {"num_cpus": num_cpus, "num_gpus": num_gpus, "runtime_env": {"env_vars": environment}}
