"""What Ray Serve is given for the settings; nothing is deployed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cocite_serve.release import Release
from cocite_serve.replicas.applications import gateway_application, stages_application
from cocite_serve.replicas.autoscaling import QUEUED_S
from cocite_serve.replicas.clicks import ClickCounter
from cocite_serve.replicas.directions import Directions
from cocite_serve.replicas.health import PERIOD_S, TIMEOUT_S
from cocite_serve.replicas.shards import Shard
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.settings import RerankerSettings, RetrieverSettings, ServeSettings


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release whose model has a cross-encoder, as far as an application looks at it."""
    model = tmp_path_factory.mktemp("model")
    (model / "cross-encoder").mkdir()
    return Release(model, Path("index"), "000001")


def deployments(release: Release, **settings: Any) -> dict[str, Any]:
    """The deployments of all applications by name."""
    parsed = ServeSettings(index=Path("index"), **settings)
    gateway = gateway_application(parsed)._bound_deployment
    reranker = stages_application(release, parsed)._bound_deployment
    retriever = reranker.init_args[1]._bound_deployment
    return {part.name: part for part in (gateway, reranker, retriever)}


def test_each_stage_gets_its_release_and_the_reranker_its_retriever(release: Release) -> None:
    parts = deployments(release)
    assert parts["Retriever"].init_args == (release,)
    assert parts["Reranker"].init_args[0] == release
    assert parts["Retriever"].init_kwargs == {"settings": RetrieverSettings()}
    assert parts["Reranker"].init_kwargs == {"settings": RerankerSettings()}
    assert issubclass(parts["Retriever"].func_or_class, Retriever)
    assert issubclass(parts["Reranker"].func_or_class, Reranker)


def test_the_settings_of_each_deployment_are_its_own(release: Release) -> None:
    parts = deployments(
        release,
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
    assert retriever._deployment_config.graceful_shutdown_timeout_s == 25, "requests under way take up to 20"
    assert (gateway.max_ongoing_requests, gateway.max_queued_requests) == (2048, 1024)
    for part in parts.values():
        backpressure = part._deployment_config.backpressure_config
        assert (backpressure.status_code, backpressure.retry_after_s) == (429, 7)


def test_a_stage_with_more_replicas_at_most_scales_by_its_queued_work(release: Release) -> None:
    parts = deployments(
        release,
        retriever={"replicas": 2, "max_replicas": 4, "target_wait_s": 3},
        reranker={"max_replicas": 1},
    )
    scaling = parts["Retriever"]._deployment_config.autoscaling_config
    assert (scaling.min_replicas, scaling.max_replicas) == (2, 4)
    policy = scaling.policy.get_policy()(**scaling.policy.policy_kwargs)
    context = SimpleNamespace(current_num_replicas=2, aggregated_metrics={QUEUED_S: {"a": 6.0, "b": 3.1}})
    assert policy(context) == (4, {})
    assert parts["Reranker"]._deployment_config.autoscaling_config is None


def test_gateways_are_added_while_each_has_many_requests(release: Release) -> None:
    scaled = deployments(release, gateway={"replicas": 2, "max_replicas": 5, "target_requests": 40})[
        "Gateway"
    ]
    scaling = scaled._deployment_config.autoscaling_config
    assert (scaling.min_replicas, scaling.max_replicas, scaling.target_ongoing_requests) == (2, 5, 40)
    fixed = deployments(release, gateway={"replicas": 2, "max_replicas": 2})["Gateway"]
    assert (fixed.num_replicas, fixed._deployment_config.autoscaling_config) == (2, None)


def test_each_shard_is_a_deployment_of_the_application_with_settings_of_its_own(release: Release) -> None:
    shards = {
        "replicas": 2,
        "max_replicas": 3,
        "num_cpus": 0.7,
        "round_s": 15,
        "policy": "partial",
        "stuck_s": 12,
    }
    settings = ServeSettings(index=Path("index"), shards=shards)
    sharded = dataclasses.replace(release, shards=3)
    reranker = stages_application(sharded, settings)._bound_deployment
    retriever = reranker.init_args[1]._bound_deployment
    for number, application in enumerate(reranker.init_args[2].handles):
        part = application._bound_deployment
        assert part.name == f"Shard-{number + 1}-of-3"
        assert (issubclass(part.func_or_class, Shard), part.init_args) == (True, (sharded, number, 12))
        assert part.ray_actor_options["num_cpus"] == 0.7
        assert part.max_ongoing_requests == 16
        config = part._deployment_config
        assert (config.autoscaling_config.min_replicas, config.autoscaling_config.max_replicas) == (2, 3)
        assert (config.health_check_period_s, config.health_check_timeout_s) == (PERIOD_S, TIMEOUT_S)
        assert config.graceful_shutdown_timeout_s == 30
    assert len(reranker.init_args[2].handles) == 3
    for stage in (retriever, reranker):
        group = stage.init_args[-1]
        assert (group.round_s, group.policy, group.start_s) == (15, "partial", settings.watch.start_s)


def test_a_stopped_replica_is_noticed_within_ten_seconds_and_none_is_ended_with_requests(
    release: Release,
) -> None:
    """Ray Serve takes three checks in a row, whose period it lengthens by up to a tenth, for a dead replica."""
    settings = ServeSettings(index=Path("index"), request_timeout_s=40)
    reranker = stages_application(release, settings)._bound_deployment
    gateway = gateway_application(settings)._bound_deployment
    for part in (gateway, reranker, reranker.init_args[1]._bound_deployment):
        config = part._deployment_config
        assert hasattr(part.func_or_class, "check_health"), "else Ray Serve asks the process alone"
        # What notices it needs time too: 1.2 s and 1.4 s were measured.
        assert 1.1 * config.health_check_period_s + 3 * config.health_check_timeout_s < 8
        assert (config.graceful_shutdown_timeout_s, config.max_surge_percent) == (45, 100)


@pytest.mark.parametrize("switch", [None, "0"])
def test_a_replica_computes_in_one_thread_and_verifies_as_its_starter_does(
    release: Release, monkeypatch: pytest.MonkeyPatch, switch: str | None
) -> None:
    monkeypatch.delenv("COCITE_VERIFY", raising=False)
    if switch is not None:
        monkeypatch.setenv("COCITE_VERIFY", switch)
    for part in deployments(release).values():
        environment = part.ray_actor_options["runtime_env"]["env_vars"]
        assert {
            environment[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        } == {"1"}
        assert environment.get("COCITE_VERIFY") == switch


@pytest.mark.parametrize("given", [None, "500"])
def test_a_replica_keeps_few_compiled_products_unless_its_starter_says_how_many(
    release: Release, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.delenv("LRU_CACHE_CAPACITY", raising=False)
    if given is not None:
        monkeypatch.setenv("LRU_CACHE_CAPACITY", given)
    for part in deployments(release).values():
        environment = part.ray_actor_options["runtime_env"]["env_vars"]
        assert environment["LRU_CACHE_CAPACITY"] == (given or "512")
        assert environment["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "512"


def test_one_replica_counts_clicks_where_answers_are_interleaved() -> None:
    beside = {"index_version": "000001", "traffic": "interleave"}
    settings = ServeSettings(index=Path("index"), gateway={"replicas": 3}, beside=beside)
    first = Directions("cocite-stages-1")
    gateway = gateway_application(settings, first)._bound_deployment
    assert gateway.init_args[:2] == (settings, first)
    counter = gateway.init_args[2]._bound_deployment
    assert issubclass(counter.func_or_class, ClickCounter)
    assert (counter.name, counter.num_replicas, gateway.num_replicas) == ("ClickCounter", 1, 3)
    config = counter._deployment_config
    assert config.max_surge_percent == 0, "two would divide the clicks"
    assert config.health_check_timeout_s == gateway._deployment_config.health_check_timeout_s
    assert config.graceful_shutdown_timeout_s == gateway._deployment_config.graceful_shutdown_timeout_s
    for traffic in ("none", "shadow", "split"):
        settings = ServeSettings(index=Path("index"), beside=beside | {"traffic": traffic})
        assert len(gateway_application(settings)._bound_deployment.init_args) == 2


def test_traces_go_where_the_settings_say_and_without_them_where_the_environment_does(
    release: Release,
) -> None:
    names = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_SAMPLER_ARG")
    traces = {"endpoint": "http://127.0.0.1:4318", "share": 0.5}
    for settings, expected in (
        ({}, [None, None]),
        ({"traces": traces}, ["http://127.0.0.1:4318/v1/traces", "0.5"]),
    ):
        for part in deployments(release, **settings).values():
            environment = part.ray_actor_options["runtime_env"]["env_vars"]
            assert [environment.get(name) for name in names] == expected


def test_without_a_cross_encoder_there_is_no_reranker() -> None:
    retriever = stages_application(
        Release(None, Path("index"), "000001"), ServeSettings(index=Path("index"))
    )._bound_deployment
    assert retriever.name == "Retriever"
    assert len(retriever.init_args) == 1, "nothing but the release"
