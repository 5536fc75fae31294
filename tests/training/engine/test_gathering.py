"""Rows of all ranks, in a file that the ranks of a machine map together."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.many_processes import together
from helpers.mapped_files import mapped_file
from numpy.typing import NDArray

from cocite.errors import CociteError, WriteError
from cocite.training.engine import gathering
from cocite.training.engine.gathering import gathered
from cocite.training.engine.world import World

ROWS = np.arange(70, dtype=np.int32).reshape(10, 7)


def two(world: World) -> list[tuple[NDArray[Any], str]]:
    gathering.BLOCK = 60  # two rows at a time
    mine = slice(0, 7) if world.first else slice(7, 10)
    found = [gathered(array[mine], world) for array in (ROWS, ROWS % 2 == 0, ROWS[:0])]
    return [(np.array(array), mapped_file(array)) for array in found]


@pytest.mark.integration
def test_ranks_map_one_file_of_all_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ranks = together(two)
    for found in ranks:
        (rows, file), (even, _), (nothing, _) = found
        assert np.array_equal(rows, ROWS)
        assert np.array_equal(even, ROWS % 2 == 0)
        assert nothing.shape == (0, 7)
        assert file.startswith(str(tmp_path))
        assert file.endswith("(deleted)")
    assert ranks[0][0][1] == ranks[1][0][1]
    assert not list(tmp_path.glob("cocite-gathered-*"))


def test_a_process_alone_maps_its_rows_and_may_change_its_copy() -> None:
    found = gathered(ROWS, World())
    assert np.array_equal(found, ROWS)
    assert "cocite-gathered" in mapped_file(found)
    found[0, 0] = 9  # as torch may take it for an array that can be written
    assert ROWS[0, 0] == 0


def test_a_full_disk_is_an_error_that_names_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gathering.os, "posix_fallocate", full)
    monkeypatch.setattr(
        tempfile, "tempdir", str(tmp_path)
    )  # other processes put such files into the shared one
    with pytest.raises(WriteError, match="no space left on the device") as caught:
        gathered(ROWS, World())
    assert isinstance(caught.value, CociteError)
    assert caught.value.where == str(tmp_path)
    assert not list(tmp_path.iterdir())
