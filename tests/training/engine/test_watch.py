"""Work in blocks: every rank looks equally often, whatever its share, and a wish leaves the work on all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.many_processes import together

from cocite.training.engine.folders import LocalFolder
from cocite.training.engine.kept_blocks import KeptBlocks
from cocite.training.engine.watch import InterruptedWorkError, Watch, looking
from cocite.training.engine.wishes import Wishes
from cocite.training.engine.world import World


@pytest.mark.parametrize("total", [0, 1, 7, 8, 9, 24, 25])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_blocks_are_those_of_the_share_and_looks_those_of_the_largest(total: int, ranks: int) -> None:
    looks = []
    for rank in range(ranks):
        world, seen, done = World(rank, ranks), [], []
        share = world.share(total)
        watch = Watch(look=lambda seen=seen: seen.append(1), advance=done.append)  # type: ignore[misc]
        blocks = watch.blocks("mining", share.stop - share.start, size=4, total=total, world=world)
        found = [number for block in blocks for number in range(total)[block]]
        assert found == list(range(share.stop - share.start))
        assert sum(done) == total
        looks.append(len(seen))
    assert len(set(looks)) == 1


def test_a_stage_is_told_with_the_work_of_all_ranks() -> None:
    told: list[Any] = []
    watch = Watch(stage=lambda *stage: told.append(stage), advance=told.append)
    assert list(watch.blocks("mining: papers", 5, size=3, total=9, world=World(1, 2)))
    assert told == [("mining: papers", 9), 6, 3]


def left_at(world: World, wish: str, saved: bool) -> tuple[int, bool]:
    """After how many blocks rank 0 or 1 leaves work in which rank 1 wants something in the second block."""
    wishes, done = Wishes(), 0
    watch = Watch(look=looking(wishes, world, lambda: saved))
    try:
        for _ in watch.blocks("mining", 5, size=1, total=5 * world.size, world=world):
            done += 1
            world.sum(torch.ones(1))
            if done == 2 and world.rank == world.size - 1:
                getattr(wishes, wish)()
    except InterruptedWorkError:
        return done, wishes.take_save()
    return done, wishes.take_save()


@pytest.mark.parametrize(
    ("wish", "saved", "done"), [("stop", True, 2), ("stop", False, 2), ("save", False, 2), ("save", True, 5)]
)
def test_a_wish_leaves_the_work_unless_it_is_granted_already(wish: str, saved: bool, done: int) -> None:
    assert left_at(World(), wish, saved) == (done, False)


@pytest.mark.integration
def test_the_wish_of_one_rank_leaves_the_work_on_all() -> None:
    assert together(left_at, "stop", True) == [(2, False)] * 2


def test_only_blocks_that_are_not_kept_are_done_and_progress_is_that_of_all(tmp_path: Path) -> None:
    done: list[int] = []

    def squares(fail_at: int = -1) -> list[int]:
        into, found = np.zeros(11, np.int64), []
        watch = Watch(advance=done.append, kept=lambda: KeptBlocks(LocalFolder(tmp_path), 0))
        for block in watch.filled("mining: squares", into, size=3):
            if block.start == fail_at:
                raise InterruptedWorkError
            found.append(block.start)
            into[block] = np.arange(11)[block] ** 2
        assert into.tolist() == [number**2 for number in range(11)]
        return found

    with pytest.raises(InterruptedWorkError, match=r"^$"):
        squares(fail_at=6)
    done.clear()
    assert squares() == [6, 9]
    assert done == [3, 3, 3, 2]
    assert squares() == []
