from __future__ import annotations

import os

import pytest
import torch
from helpers.many_processes import together

from cocite.training.engine.world import World


def exchanged(world: World) -> dict[str, object]:
    """What each operation gives on a rank."""
    rows = torch.arange(2 + world.rank, dtype=torch.float32)[:, None] + 10 * world.rank
    filled = torch.full((2,), float(world.rank))
    return {
        "sum": world.sum(torch.tensor([world.rank + 1.0])).tolist(),
        "rows": world.concatenate(rows).ravel().tolist(),
        "none": world.concatenate(rows[:0]).shape,
        "any": world.any_of([world.rank == 1, False, True]),
        "agreed": world.agree(f"rank {world.rank}"),
        "collected": world.collect(world.rank * 2),
        "spread": world.spread(filled, 1).tolist(),
        "share": [world.share(7).start, world.share(7).stop],
    }


@pytest.mark.integration
def test_ranks_exchange_what_they_have() -> None:
    first, second = together(exchanged)
    assert first["share"] == [0, 3]
    assert second["share"] == [3, 7]
    del first["share"], second["share"]
    assert first == second
    assert first["sum"] == [3.0]
    assert first["rows"] == [0.0, 1.0, 10.0, 11.0, 12.0]
    assert first["none"] == (0, 1)
    assert first["any"] == [True, False, True]
    assert first["agreed"] == "rank 0"
    assert first["collected"] == [0, 2]
    assert first["spread"] == [1.0, 1.0]


def test_a_process_alone_has_all() -> None:
    world = World()
    rows = torch.ones(3, 2)
    assert world.first
    assert world.concatenate(rows) is rows
    assert world.share(5) == slice(0, 5)
    assert world.collect("mine") == ["mine"]


@pytest.mark.parametrize("count", [0, 1, 5, 8])
def test_shares_are_the_whole_and_differ_by_one_at_most(count: int) -> None:
    parts = [range(count)[World(rank, 3).share(count)] for rank in range(3)]
    assert [number for part in parts for number in part] == list(range(count))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_without_an_environment_that_says_so_there_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert "WORLD_SIZE" not in os.environ
    joined = World.join()
    assert (joined.rank, joined.size) == (0, 1)
