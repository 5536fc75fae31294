from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.array_files import ArrayWriter, RunWriter, token_dtype
from cocite.artifacts import load_array


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64, np.float32])
def test_a_file_written_in_blocks_is_that_of_the_whole_array(tmp_path: Path, dtype: type) -> None:
    blocks = [np.arange(count) for count in (0, 3, 10_001, 1)]
    with ArrayWriter(tmp_path / "blocks.npy", dtype) as writer:
        for block in blocks:
            writer.add(block)
    found = load_array(tmp_path / "blocks.npy")
    assert found.dtype == dtype
    assert np.array_equal(found, np.concatenate(blocks))


def test_a_file_without_values_is_an_empty_array(tmp_path: Path) -> None:
    with ArrayWriter(tmp_path / "none.npy", np.int32):
        pass
    assert load_array(tmp_path / "none.npy", mapped=False).shape == (0,)


def test_runs_are_found_by_their_bounds(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "runs", np.int32) as writer:
        writer.add([5, 6, 7], [1, 0, 2])
        writer.add([], [])
        writer.add([8], [1])
    values, indptr = load_array(tmp_path / "runs.npy"), load_array(tmp_path / "runs.indptr.npy")
    assert indptr.tolist() == [0, 1, 1, 3, 4]
    assert values.tolist() == [5, 6, 7, 8]


def test_two_bytes_hold_65536_tokens() -> None:
    assert token_dtype(65_536) == np.uint16
    assert token_dtype(65_537) == np.int32
