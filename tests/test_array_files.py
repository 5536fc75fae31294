from __future__ import annotations

import resource
import tempfile
from pathlib import Path

import numpy as np
import pytest
from helpers.mapped_files import mapped_file

from cocite.array_files import (
    ArrayWriter,
    RunWriter,
    require_fit,
    scratch_array,
    scratch_numbers,
    scratch_rows,
    token_dtype,
)
from cocite.artifacts import load_array
from cocite.errors import IntegrityError, WriteError


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


def test_a_scratch_array_leaves_no_file_and_lack_of_space_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    array = scratch_array(5000, np.int64)
    assert not array.any()
    array[:] = np.arange(5000)[::-1]
    np.random.default_rng(3).shuffle(array)
    assert array.sum() == 5000 * 4999 // 2
    assert list(tmp_path.iterdir()) == []
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line]
    assert len(mapped) == 1
    assert mapped[0].endswith("(deleted)")
    assert scratch_array((4, 3), np.float32).tolist() == [[0.0] * 3] * 4
    assert scratch_array((0, 3), np.float32).shape == (0, 3)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, hard))
    try:
        with pytest.raises(WriteError, match=r"the file would be larger than the system allows .*TMPDIR"):
            scratch_array(2**20, np.int64)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_rows_that_are_made_by_the_block_are_those_of_the_whole_array() -> None:
    whole = np.random.default_rng(0).normal(size=(50_000, 3))
    made = scratch_rows(slice(7, 49_000), np.float64, lambda block: whole[block], 3)
    assert np.array_equal(made, whole[7:49_000])
    numbers = scratch_numbers(5, 40_005, np.int32)
    assert numbers.dtype == np.int32
    assert np.array_equal(numbers, np.arange(5, 40_005))
    assert "(deleted)" in mapped_file(made)
    assert "(deleted)" in mapped_file(numbers)
    assert len(scratch_numbers(5, 5)) == 0


def test_two_bytes_hold_65536_tokens() -> None:
    assert token_dtype(65_536) == np.uint16
    assert token_dtype(65_537) == np.int32


def test_arrays_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    require_fit(True, tmp_path)
    with pytest.raises(IntegrityError, match=r"the arrays do not fit the corpus \(make them anew\)"):
        require_fit(False, tmp_path, to="the corpus")
