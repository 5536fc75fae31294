from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.spill import BatchWriter, NpyWriter
from cocite.corpus.store import BATCH, ArrowFile


@given(st.lists(st.integers(0, BATCH + 5), max_size=4))
def test_an_arrow_file_has_equal_batches_whatever_it_is_given(tmp_path: Path, sizes: list[int]) -> None:
    writer = BatchWriter(tmp_path / "f.arrow", pa.schema([("x", pa.int64())]))
    start = 0
    for size in sizes:
        writer.write(pa.RecordBatch.from_pydict({"x": np.arange(start, start + size)}))
        start += size
    writer.close()
    file = ArrowFile(tmp_path / "f.arrow")
    assert writer.rows == len(file) == start
    assert file.column("x").tolist() == list(range(start))
    lengths = [len(chunk) for chunk in file.table.column("x").chunks]
    assert all(length == BATCH for length in lengths[:-1])
    rows = np.random.default_rng(0).integers(0, start, 50) if start else np.empty(0, np.int64)
    assert file.take("x", rows) == rows.tolist()
    assert file.take("x", rows[:3].tolist()) == rows[:3].tolist()


@pytest.mark.parametrize("cut", [2000, 2500, 7000])
def test_the_bytes_of_a_file_do_not_depend_on_the_batches_it_is_given(tmp_path: Path, cut: int) -> None:
    texts = [f"10.1/x{i}" if i % 1900 == 0 else "" for i in range(40_000)]
    lists = [[text] if text else [] for text in texts]
    for name, size in (("one", len(texts)), ("many", cut)):
        columns = {"text": pa.array(texts), "list": pa.array(lists, pa.list_(pa.string()))}
        batch = pa.RecordBatch.from_pydict(columns)
        writer = BatchWriter(tmp_path / name, batch.schema)
        for start in range(0, len(texts), size):
            writer.write(batch.slice(start, size))
        writer.close()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()


def test_array_of_unknown_length(tmp_path: Path) -> None:
    writer = NpyWriter(tmp_path / "a.npy", np.int32)
    writer.write(np.arange(5))
    writer.write(np.array([7]))
    writer.close()
    values = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert values.dtype == np.int32
    assert values.tolist() == [0, 1, 2, 3, 4, 7]
