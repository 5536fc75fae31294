from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import InputError
from cocite.retrieval.index.shard_ranges import choose_count
from cocite.retrieval.sizing.figures import measured_indexes
from cocite.retrieval.sizing.growth import Growth
from cocite.retrieval.sizing.machines import ClusterPlan, Machine, plan_cluster
from cocite.retrieval.sizing.needs import Demand

GROWTH = Growth(measured_indexes())
GIB = 2**30


def demand(papers: float) -> Demand:
    return Demand(papers, 9 * papers, 4 * papers)


def planned(papers: float, ram: float = 64, cores: int = 16, replicas: int = 1) -> ClusterPlan:
    return plan_cluster(demand(papers), Machine(ram * GIB, cores), GROWTH, replicas=replicas)


@given(st.floats(1e4, 5e8), st.floats(1, 20), st.integers(1, 5))
def test_more_papers_never_need_less(papers: float, times: float, replicas: int) -> None:
    small, large = planned(papers, 1024, 16, replicas), planned(papers * times, 1024, 16, replicas)
    assert large.needs.amounts.shards >= small.needs.amounts.shards
    assert large.machines >= small.machines
    slack = 1 + 1e-9
    assert large.needs.disk * slack >= small.needs.disk
    assert large.needs.build_cpu_s * slack >= small.needs.build_cpu_s
    assert large.needs.coordinator.wanted * slack >= small.needs.coordinator.wanted


@given(st.floats(1e4, 1e9), st.sampled_from([64.0, 256.0, 1024.0]), st.integers(1, 128), st.integers(1, 4))
def test_every_shard_has_its_place_and_nothing_is_fuller_than_planned(
    papers: float, ram: float, cores: int, replicas: int
) -> None:
    machine = Machine(ram * GIB, cores)
    plan = plan_cluster(demand(papers), machine, GROWTH, replicas=replicas)
    assert plan.busiest_bytes <= machine.planned
    assert plan.needs.amounts.shards >= choose_count(int(papers))
    assert plan.shards_a_machine <= cores
    of_shards = plan.machines if plan.together else plan.machines - replicas
    assert of_shards * plan.shards_a_machine >= replicas * plan.needs.amounts.shards


def test_a_small_index_is_on_one_machine_and_each_replica_has_its_own() -> None:
    assert planned(1e5) == planned(1e5)._replace(machines=1, together=True)
    assert planned(1e5, replicas=3).machines == 3


def test_shards_are_smaller_where_machines_have_little_memory() -> None:
    assert planned(4e8, ram=2.8).needs.amounts.shards > choose_count(400_000_000)


def test_a_coordinator_that_needs_a_larger_machine_is_marked() -> None:
    assert planned(1e6).coordinator_fits
    assert not planned(4e9).coordinator_fits


def test_a_shard_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"--ram: each of 1 shard\(s\) should have .* more than 90% of 16\.0 GiB"
    ):
        plan_cluster(demand(1e8), Machine(16 * GIB, 4), GROWTH, shards=1)
