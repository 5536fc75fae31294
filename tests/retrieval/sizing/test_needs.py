from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.retrieval.engines.vectors import FLAT_LIMIT, IVF_LIMIT
from cocite.retrieval.sizing.figures import measured_indexes
from cocite.retrieval.sizing.growth import Growth
from cocite.retrieval.sizing.needs import Demand, needs_of, vector_memory

GROWTH = Growth(measured_indexes())


@given(st.floats(1e4, 1e10), st.integers(1, 2000), st.sampled_from([{}, {"sentence": 384}]))
def test_disk_is_that_of_all_parts_and_memory_no_more_than_files_and_processes(
    papers: float, shards: int, encoders: dict[str, int]
) -> None:
    needs = needs_of(Demand(papers, 9 * papers, 4 * papers, encoders), shards, GROWTH)
    parts = sum(GROWTH.part_bytes(needs.amounts).values())
    vectors = shards * sum(sum(vector_memory(papers / shards, d)) for d in encoders.values())
    assert needs.disk == pytest.approx(parts + vectors)
    assert needs.coordinator.mapped == pytest.approx(needs.coordinator_disk)
    assert needs.shard.hot + needs.shard.mapped <= needs.shard_disk * (1 + 1e-9)
    assert min(*needs.coordinator, *needs.shard) >= 0
    for kind, ms in needs.parallel_ms.items():
        assert 0 < ms <= needs.serial_ms[kind] * (1 + 1e-9)


def test_vectors_take_what_their_format_takes() -> None:
    assert vector_memory(FLAT_LIMIT, 64) == (0, 4 * 64 * FLAT_LIMIT, 0)
    assert vector_memory(IVF_LIMIT, 64) == (72 * IVF_LIMIT, 0, 256 * IVF_LIMIT)
    assert vector_memory(IVF_LIMIT + 1, 64).resident == 24 * (IVF_LIMIT + 1)


def test_more_shards_make_each_smaller_and_all_together_larger() -> None:
    demand = Demand(1e8, 1e9, 4e8)
    few, many = (needs_of(demand, shards, GROWTH) for shards in (10, 100))
    assert many.shard.wanted < few.shard.wanted
    assert many.disk > few.disk
    assert many.coordinator == few.coordinator
