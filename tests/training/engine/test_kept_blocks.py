"""Blocks of a mining are taken where they are whole and of this very mining, and are never in its way."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.many_processes import together
from torch import nn

from cocite.training.engine.folders import LocalFolder
from cocite.training.engine.kept_blocks import KeptBlocks, is_over, name_of_mining, remove_others
from cocite.training.engine.world import World

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
PAPERS, CONTEXTS = "mining: papers", "mining: contexts"


def taken(folder: Path, what: str = PAPERS, start: int = 4, rank: int = 0) -> np.ndarray | None:
    into = np.zeros_like(ROWS)
    return into if KeptBlocks(LocalFolder(folder), rank).take(what, start, into) else None


def test_a_block_is_taken_by_its_rank_its_kind_and_its_place(tmp_path: Path) -> None:
    blocks = KeptBlocks(LocalFolder(tmp_path), 0)
    assert not blocks.any_kept
    blocks.keep(PAPERS, 4, ROWS)
    assert blocks.any_kept
    assert KeptBlocks(LocalFolder(tmp_path), 0).any_kept
    found = taken(tmp_path)
    assert found is not None
    assert np.array_equal(found, ROWS)
    assert taken(tmp_path, CONTEXTS) is taken(tmp_path, start=0) is taken(tmp_path, rank=1) is None
    assert not KeptBlocks(LocalFolder(tmp_path), 1).any_kept


@pytest.mark.parametrize("shape", [(), (7,), (2, 3)])
@pytest.mark.parametrize("dtype", [bool, np.int32, np.float32])
def test_any_array_comes_back(tmp_path: Path, shape: tuple[int, ...], dtype: type) -> None:
    rows = np.random.default_rng(0).integers(0, 2, (5, *shape)).astype(dtype)
    KeptBlocks(LocalFolder(tmp_path), 3).keep(PAPERS, 0, rows)
    into = np.zeros_like(rows)
    assert KeptBlocks(LocalFolder(tmp_path), 3).take(PAPERS, 0, into)
    assert np.array_equal(into, rows)


@pytest.mark.parametrize("damage", ["flipped", "short", "empty", "gone"])
def test_a_damaged_block_counts_as_missing(tmp_path: Path, damage: str) -> None:
    KeptBlocks(LocalFolder(tmp_path), 0).keep(PAPERS, 4, ROWS)
    blocks, into = KeptBlocks(LocalFolder(tmp_path), 0), np.zeros_like(ROWS)
    [file] = tmp_path.iterdir()
    data = file.read_bytes()
    match damage:
        case "flipped":
            file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        case "short":
            file.write_bytes(data[:-4])
        case "empty":
            file.write_bytes(b"")
        case "gone":
            file.unlink()
    assert not blocks.take(PAPERS, 4, into)
    assert not into.any()


def test_a_block_of_another_size_counts_as_missing(tmp_path: Path) -> None:
    KeptBlocks(LocalFolder(tmp_path), 0).keep(PAPERS, 4, ROWS[:2])
    assert taken(tmp_path) is None


def test_a_block_that_cannot_be_written_is_told_once_and_ends_the_keeping_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "file"
    place.touch()
    blocks = KeptBlocks(LocalFolder(place / "mining"), 0)
    with caplog.at_level(logging.WARNING, logger="cocite"):
        for start in (0, 1, 2):
            blocks.keep(PAPERS, start, ROWS)
        place.unlink()
        blocks.keep(PAPERS, 3, ROWS)
    [record] = caplog.records
    assert "further blocks of mining are not kept" in record.message
    assert "not a directory" in record.message
    assert not blocks.any_kept
    assert not place.exists()


def test_the_name_follows_from_all_that_the_blocks_follow_from() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    names = [name_of_mining(7, model, World(), "f") for _ in range(2)]
    assert names[0] == names[1]
    others = [
        name_of_mining(8, model, World(), "f"),
        name_of_mining(7, model, World(), "g"),
    ]
    with torch.no_grad():
        model[0].weight[1, 1] += 1e-6
        others.append(name_of_mining(7, model, World(), "f"))
        model[1].running_mean += 1  # type: ignore[operator]
        others.append(name_of_mining(7, model.bfloat16(), World(), "f"))
    assert len({names[0], *others}) == 5


def names_of(world: World) -> tuple[str, str]:
    torch.manual_seed(world.rank)  # one rank decides, whatever its weights
    model = nn.Linear(2, 3)
    return name_of_mining(7, model, world, "f"), name_of_mining(7, model, World(), "f")


@pytest.mark.integration
def test_ranks_have_one_name_and_another_number_of_them_another() -> None:
    (first, alone), (second, _) = together(names_of)
    assert first == second != alone


def test_the_blocks_of_other_minings_but_later_ones_are_removed_and_nothing_else(tmp_path: Path) -> None:
    names = [
        "mining-00000007-ab",
        "mining-00000007-cd",
        "mining-00000014-ab",
        "mined-00000007",
        "step-00000007",
    ]
    for name in names:
        (tmp_path / name).mkdir()
    remove_others(LocalFolder(tmp_path), "mining-00000007-cd", 7)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["mined-00000007", "mining-00000007-cd", "mining-00000014-ab", "step-00000007"]


def test_only_blocks_of_earlier_minings_are_over() -> None:
    names = ["mining-00000007-ab12", "mined-00000007", "mining-x", "step-00000001", "mining-00000009-ab12"]
    assert [name for name in names if is_over(name, 9)] == ["mining-00000007-ab12"]
