from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import ConfigError, InputError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.resources import (
    check_batch,
    check_part,
    check_resources,
    gpus_of_worker,
    resolve_gpus,
    worker_capacity,
    worker_environment,
    worker_range,
    worker_resources,
)
from cocite_jobs.training.recipes import load_recipe

NODES = [{"CPU": 8.0, "GPU": 2.0, "memory": 1e9}, {"CPU": 4.0}]


def workers_of(count: int | tuple[int, int], cpus: float = 1, gpus: float = 0) -> WorkerSettings:
    return WorkerSettings(count=count, cpus=cpus, gpus=gpus)


@pytest.mark.parametrize(
    "workers",
    [
        workers_of(12),
        workers_of(2, 4, 1),
        workers_of((2, 64), 4),
        workers_of(4, 2, 0.5),
        workers_of(3, 4),
        workers_of(79, 0.15),
    ],
)
def test_workers_that_fit_are_accepted(workers: WorkerSettings) -> None:
    check_resources(workers, NODES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("workers", "sentence"),
    [
        (
            workers_of(4, 1, 1),
            r"^workers: 4 x 1 GPU are asked for, and the cluster has 2 \(lower workers.count, workers.gpus",
        ),
        (
            workers_of((13, 20)),
            r"^workers: 13 x 1 CPU are asked for, and the cluster has 12 \(lower workers.count, workers.c",
        ),
        (
            workers_of(2, 6),
            r"^workers: 2 workers are asked for, and the cluster's nodes have room for 1 \(lower",
        ),
        (workers_of(2, 5, 1), r"room for 1"),
    ],
)
def test_workers_that_cannot_be_placed_are_refused(workers: WorkerSettings, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check_resources(workers, NODES)  # type: ignore[arg-type]


def test_the_number_of_workers_is_at_least_one() -> None:
    assert worker_range(workers_of(3)) == (3, 3)
    assert worker_range(workers_of((1, 4))) == (1, 4)
    with pytest.raises(ConfigError, match=r"workers\.count: 0 is no number of workers"):
        worker_range(workers_of(0))
    for count in (-1, (0, 2), (3, 2)):
        with pytest.raises(ConfigError, match=r"^count"):
            WorkerSettings.parse({"count": count})
    assert worker_resources(workers_of(1, 2)) == {"CPU": 2}
    assert worker_resources(workers_of(1, 2, 0.5)) == {"CPU": 2, "GPU": 0.5}


def test_a_worker_has_a_gpu_where_there_are_any_unless_told_otherwise() -> None:
    without = [{"CPU": 8.0}, {"CPU": 8.0, "GPU": 0.0}]
    with_gpus = [*without, {"CPU": 1.0, "GPU": 1.0}]
    assert resolve_gpus(WorkerSettings(), without).gpus == 0
    assert resolve_gpus(WorkerSettings(count=2), with_gpus) == WorkerSettings(count=2, gpus=1)
    for gpus in (0, 0.5):
        assert resolve_gpus(WorkerSettings(gpus=gpus), with_gpus).gpus == gpus
        assert resolve_gpus(WorkerSettings(gpus=gpus, accelerator="H100"), without).gpus == gpus
    with pytest.raises(InputError, match=r"workers\.gpus; 0 GPUs: the workers train on CPUs\)$"):
        check_resources(resolve_gpus(WorkerSettings(count=2), with_gpus), with_gpus)


def test_a_worker_on_a_named_type_of_gpu_reserves_one_that_the_cluster_does_not_have_yet() -> None:
    empty, named = [{"CPU": 4.0}], WorkerSettings(accelerator="H100")
    resolved = resolve_gpus(named, empty)
    assert worker_resources(resolved) == {"CPU": 1, "GPU": 1, "accelerator_type:H100": 0.001}
    assert gpus_of_worker(None, "", empty) == 0
    with pytest.raises(InputError, match="1 x 1 GPU are asked for, and the cluster has 0"):
        check_resources(resolved, empty)


def test_each_worker_needs_an_example_of_a_step() -> None:
    recipe = load_recipe("scibert-global")
    check_batch(recipe, 13)
    sentence = (
        r"^training\.batch: a step of 13 examples cannot be shared out to 14 workers "
        r"\(set it to 14 or more, or workers\.count to 13 or less\)$"
    )
    with pytest.raises(ConfigError, match=sentence):
        check_batch(recipe, 14)


def test_a_worker_is_placed_on_one_node_as_a_whole() -> None:
    assert worker_capacity(workers_of(1, 3), [{"CPU": 5.0}, {"CPU": 4.0}]) == 2
    assert worker_capacity(workers_of(1, 1, 1), [{"CPU": 8.0, "GPU": 2.0}, {"CPU": 8.0}]) == 2
    assert worker_capacity(workers_of(1, 0.1), [{"CPU": 0.3}]) == 3  # 0.3 / 0.1 < 3 in floating point


@given(st.integers(1, 6), st.lists(st.integers(0, 9), max_size=4), st.integers(1, 5))
def test_the_workers_that_a_cluster_has_room_for_are_accepted_and_one_more_is_not(
    cpus: int, nodes: list[int], count: int
) -> None:
    resources = [{"CPU": float(node)} for node in nodes]
    capacity = 0
    for node in nodes:  # place one worker after the other
        while node >= cpus:
            node, capacity = node - cpus, capacity + 1
    assert worker_capacity(workers_of(1, cpus), resources) == capacity  # type: ignore[arg-type]
    if count <= capacity:
        check_resources(workers_of(count, cpus), resources)  # type: ignore[arg-type]
    else:
        with pytest.raises(InputError, match="are asked for, and the cluster"):
            check_resources(workers_of(count, cpus), resources)  # type: ignore[arg-type]


def test_gpus_are_hidden_from_workers_without_any() -> None:
    with_gpus, without = [{"CPU": 4.0}, {"CPU": 4.0, "GPU": 2.0}], [{"CPU": 4.0}]
    hidden = {"env_vars": {"CUDA_VISIBLE_DEVICES": ""}}
    for grows in (False, True):
        assert worker_environment(0, with_gpus, grows=grows) == hidden
        assert worker_environment(1, with_gpus, grows=grows) == {}
    assert worker_environment(0, without, grows=False) == {}
    assert worker_environment(0, without, grows=True) == hidden


@pytest.mark.parametrize(
    ("needs", "nodes", "sentence"),
    [
        ({"CPU": 8.0, "GPU": 2.0}, NODES, None),
        ({"CPU": 4.0, "GPU": 0.0}, [{"CPU": 4.0}], None),
        ({"CPU": 9.0}, NODES, "a worker needs 9 CPU, and no node has them: the largest have 8 CPU; 4 CPU"),
        ({"CPU": 6.0, "GPU": 1.0}, [{"CPU": 8.0}, {"CPU": 4.0, "GPU": 1.0}], "8 CPU; 4 CPU and 1 GPU"),
        ({"CPU": 1.0, "accelerator_type:H100": 0.001}, NODES, "needs 1 CPU and H100, and no node has them"),
        ({"CPU": 1.0}, [{"memory": 1.0}], "the largest have nothing of them"),
        ({"CPU": 1.0}, [], "the cluster has no node"),
    ],
)
def test_a_part_that_no_node_can_make_is_refused(
    needs: dict[str, float], nodes: list[Mapping[str, float]], sentence: str | None
) -> None:
    if sentence is None:
        check_part(needs, nodes)
        return
    with pytest.raises(InputError, match=sentence) as refused:
        check_part(needs, nodes)
    assert "--wait" in str(refused.value)
