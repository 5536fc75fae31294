"""What Ray Serve is given for the settings; nothing is deployed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from cocite_serve.release import Release
from cocite_serve.replicas.applications import gateway_application, stages_application
from cocite_serve.replicas.shards import Shard
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.settings import ServeSettings

RELEASE = Release(None, Path("index"), "000001")


def deployments(**settings: Any) -> dict[str, Any]:
    """The deployments of all applications by name."""
    parsed = ServeSettings(index=Path("index"), **settings)
    gateway = gateway_application(parsed)._bound_deployment
    reranker = stages_application(RELEASE, parsed)._bound_deployment
    retriever = reranker.init_args[1]._bound_deployment
    return {part.name: part for part in (gateway, reranker, retriever)}


def test_each_stage_gets_its_release_and_the_reranker_its_retriever() -> None:
    parts = deployments()
    assert parts["Retriever"].init_args == (RELEASE,)
    assert parts["Reranker"].init_args[0] == RELEASE
    assert issubclass(parts["Retriever"].func_or_class, Retriever)
    assert issubclass(parts["Reranker"].func_or_class, Reranker)


def test_the_settings_of_each_deployment_are_its_own() -> None:
    parts = deployments(
        retriever={"replicas": 2, "max_ongoing_requests": 3, "max_queued_requests": 5, "num_cpus": 1.5},
        reranker={"num_gpus": 0.5},
        gateway={"replicas": 4, "num_cpus": 0.25},
        retry_after_s=7,
    )
    retriever, reranker, gateway = parts["Retriever"], parts["Reranker"], parts["Gateway"]
    assert (retriever.num_replicas, reranker.num_replicas, gateway.num_replicas) == (2, 1, 4)
    assert (retriever.max_ongoing_requests, retriever.max_queued_requests) == (3, 5)
    assert (retriever.ray_actor_options["num_cpus"], retriever.ray_actor_options["num_gpus"]) == (1.5, 0)
    assert reranker.ray_actor_options["num_gpus"] == 0.5
    assert gateway.ray_actor_options["num_cpus"] == 0.25
    for part in parts.values():
        backpressure = part._deployment_config.backpressure_config
        assert (backpressure.status_code, backpressure.retry_after_s) == (429, 7)


def test_a_stage_with_more_replicas_at_most_scales_by_its_waiting_requests() -> None:
    parts = deployments(
        retriever={"replicas": 2, "max_replicas": 4, "max_ongoing_requests": 6}, reranker={"max_replicas": 1}
    )
    scaling = parts["Retriever"]._deployment_config.autoscaling_config
    assert (scaling.min_replicas, scaling.max_replicas, scaling.target_ongoing_requests) == (2, 4, 3)
    assert parts["Reranker"]._deployment_config.autoscaling_config is None


def test_each_shard_is_a_deployment_of_the_application_with_settings_of_its_own() -> None:
    shards = {"replicas": 2, "max_replicas": 3, "num_cpus": 0.7, "round_s": 15, "policy": "partial"}
    settings = ServeSettings(index=Path("index"), shards=shards)
    release = dataclasses.replace(RELEASE, shards=3)
    reranker = stages_application(release, settings)._bound_deployment
    retriever = reranker.init_args[1]._bound_deployment
    for number, application in enumerate(reranker.init_args[2].handles):
        part = application._bound_deployment
        assert part.name == f"Shard-{number + 1}-of-3"
        assert (issubclass(part.func_or_class, Shard), part.init_args) == (True, (release, number))
        assert part.ray_actor_options["num_cpus"] == 0.7
        assert part.max_ongoing_requests == 16
        config = part._deployment_config
        assert (config.autoscaling_config.min_replicas, config.autoscaling_config.max_replicas) == (2, 3)
        assert (config.health_check_period_s, config.graceful_shutdown_timeout_s) == (2, 30)
    assert len(reranker.init_args[2].handles) == 3
    for stage in (retriever, reranker):
        group = stage.init_args[-1]
        assert (group.round_s, group.policy, group.start_s) == (15, "partial", settings.watch.start_s)


@pytest.mark.parametrize("switch", [None, "0"])
def test_a_replica_computes_in_one_thread_and_verifies_as_its_starter_does(
    monkeypatch: pytest.MonkeyPatch, switch: str | None
) -> None:
    monkeypatch.delenv("COCITE_VERIFY", raising=False)
    if switch is not None:
        monkeypatch.setenv("COCITE_VERIFY", switch)
    for part in deployments().values():
        environment = part.ray_actor_options["runtime_env"]["env_vars"]
        assert {
            environment[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        } == {"1"}
        assert environment.get("COCITE_VERIFY") == switch
