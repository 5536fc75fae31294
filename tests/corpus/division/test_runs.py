from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.division import runs
from cocite.corpus.division.runs import (
    PairRuns,
    TextRuns,
    keys_of,
    read_pairs,
    read_texts,
    sum_equal,
    text_rows,
)

TEXTS = pa.schema([("position", pa.int32()), ("text", pa.string())])
ROWS = st.lists(st.integers(0, 9), max_size=30)


def parts(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / name for name in ("0", "1")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        for file in folder.iterdir():
            file.unlink()
    return folders


@given(ROWS, ROWS, st.integers(0, 9), st.integers(0, 9), st.integers(1, 8))
def test_pairs_come_back_distinct_and_counted(
    tmp_path: Path, rows: list[int], others: list[int], low: int, high: int, size: int
) -> None:
    folders = parts(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "PAIRS", size)
        for folder, values in zip(folders, (rows, others), strict=True):
            plain, counted = PairRuns(folder, "links"), PairRuns(folder, "together", counted=True)
            for value in values:
                plain.add(np.array([value]))
                counted.add(np.array([value, value]))
            plain.close()
            counted.close()
    within = [value for value in rows + others if low <= value < high]
    assert read_pairs(folders, "links", low, high)[0].tolist() == sorted(set(within))
    keys, counts = read_pairs(folders, "together", low, high, counted=True)
    assert keys.tolist() == sorted(set(within))
    assert counts.tolist() == [2 * within.count(key) for key in keys]


@pytest.mark.parametrize("ties", [None, "position"])
@given(rows=ROWS, size=st.integers(1, 8), low=st.integers(0, 9), high=st.integers(0, 9))
def test_texts_come_back_in_the_order_of_their_papers(
    tmp_path: Path, ties: str | None, rows: list[int], size: int, low: int, high: int
) -> None:
    folders = parts(tmp_path)
    texts = [(row, (7 * i) % 3, f"text {i}") for i, row in enumerate(rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "TEXTS", size)
        for folder, values in zip(folders, (texts[:11], texts[11:]), strict=True):
            writer = TextRuns(folder, "texts", TEXTS, ties=ties)
            for row, position, text in values:
                batch = pa.RecordBatch.from_pylist([{"position": position, "text": text}], schema=TEXTS)
                writer.add(np.array([row], np.int32), batch)
            writer.close()
    found = [
        text
        for batch in read_texts(folders, "texts", low, high, ties=ties)
        for text in batch["text"].to_pylist()
    ]
    order = sorted(texts, key=lambda text: text[:2] if ties else text[:1])
    assert found == [text for row, _, text in order if low <= row < high]
    counted = [row for folder in folders for run in text_rows(folder, "texts") for row in run.tolist()]
    assert sorted(counted) == sorted(rows)


def test_keys_are_in_the_order_of_the_pairs() -> None:
    rows, entries = np.array([0, 1, 1], np.int32), np.array([9, 0, 2], np.int32)
    assert keys_of(rows, entries).tolist() == [9, 1 << 32, (1 << 32) + 2]


def test_counts_of_nothing() -> None:
    keys, counts = sum_equal(np.empty(0, np.int64), np.empty(0, np.int64))
    assert (len(keys), len(counts)) == (0, 0)
