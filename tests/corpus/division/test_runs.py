from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.division import runs
from cocite.corpus.division.runs import (
    PairRuns,
    RunFile,
    Runs,
    TextRuns,
    keys_of,
    read_index,
    sum_equal,
)
from cocite.part_files import LocalFiles

TEXTS = pa.schema([("position", pa.int32()), ("text", pa.string())])
ROWS = st.lists(st.integers(0, 9), max_size=30)


def part(tmp_path: Path, number: int) -> RunFile:
    folder = tmp_path / "parts" / f"{number:05d}"
    shutil.rmtree(folder, ignore_errors=True)  # an earlier example may have the files mapped
    folder.mkdir(parents=True)
    return RunFile(folder, number)


def runs_of(tmp_path: Path, *files: RunFile) -> Runs:
    for file in files:
        file.close()
    index = np.concatenate([read_index(file.folder) for file in files])
    return Runs(LocalFiles(tmp_path), "parts", index)


@given(ROWS, ROWS, st.integers(0, 9), st.integers(0, 9), st.integers(1, 8), st.integers(1, 4))
def test_pairs_come_back_distinct_and_counted(
    tmp_path: Path, rows: list[int], others: list[int], low: int, high: int, size: int, chunk: int
) -> None:
    files = [part(tmp_path, 0), part(tmp_path, 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "PAIRS", size)
        patch.setattr(runs, "PAIR_CHUNK", chunk)
        for file, values in zip(files, (rows, others), strict=True):
            plain, counted = PairRuns(file, "cites"), PairRuns(file, "cocitations", counted=True)
            for value in values:
                plain.add(np.array([value]))
                counted.add(np.array([value, value]))
            plain.flush()
            counted.flush()
    found = runs_of(tmp_path, *files)
    within = [value for value in rows + others if low <= value < high]
    assert found.pairs("cites", low, high)[0].tolist() == sorted(set(within))
    keys, counts = found.pairs("cocitations", low, high, counted=True)
    assert keys.tolist() == sorted(set(within))
    assert counts.tolist() == [2 * within.count(key) for key in keys]


@pytest.mark.parametrize("ties", [None, "position"])
@given(
    rows=ROWS,
    size=st.integers(1, 8),
    chunk=st.integers(1, 4),
    low=st.integers(0, 9),
    high=st.integers(0, 9),
)
def test_texts_come_back_in_the_order_of_their_papers(
    tmp_path: Path, ties: str | None, rows: list[int], size: int, chunk: int, low: int, high: int
) -> None:
    files, counted = [part(tmp_path, 0), part(tmp_path, 1)], []
    texts = [(row, (7 * i) % 3, f"text {i}") for i, row in enumerate(rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "TEXTS", size)
        patch.setattr(runs, "TEXT_CHUNK", chunk)
        for file, values in zip(files, (texts[:11], texts[11:]), strict=True):
            writer = TextRuns(file, "sentences", TEXTS, ties=ties)
            for row, position, text in values:
                batch = pa.RecordBatch.from_pylist([{"position": position, "text": text}], schema=TEXTS)
                writer.add(np.array([row], np.int32), batch)
                # Of a block whose texts were all rejected:
                writer.add(np.empty(0, np.int32), batch.slice(0, 0))
            writer.flush()
            for distinct, counts in writer.degrees:
                counted += np.repeat(distinct, counts).tolist()
    ordered = runs_of(tmp_path, *files).texts("sentences", TEXTS, low, high, ties=ties)
    found = [text for batch in ordered for text in batch["text"].to_pylist()]
    order = sorted(texts, key=lambda text: text[:2] if ties else text[:1])
    assert found == [text for row, _, text in order if low <= row < high]
    assert sorted(counted) == sorted(rows)


def test_keys_are_in_the_order_of_the_pairs() -> None:
    rows, entries = np.array([0, 1, 1], np.int32), np.array([9, 0, 2], np.int32)
    assert keys_of(rows, entries).tolist() == [9, 1 << 32, (1 << 32) + 2]


def test_counts_of_nothing() -> None:
    keys, counts = sum_equal(np.empty(0, np.int64), np.empty(0, np.int64))
    assert (len(keys), len(counts)) == (0, 0)
