"""Sorted runs of links and texts on disk: what a part holds, cut so that each run fits in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.corpus.csr import distinct
from cocite.corpus.spill import SpillWriter
from cocite.corpus.store import BATCH

PAIRS = 1 << 20
"""Pairs of a run."""
TEXTS = 1 << 16
"""Texts of a run."""


def keys_of(rows: NDArray[np.int32], entries: NDArray[np.int32]) -> NDArray[np.int64]:
    """Pairs of rows as whole numbers in the same order."""
    return (rows.astype(np.int64) << 32) | entries


def sum_equal(
    keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ascending distinct keys, and the sum of the counts of each."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, int)
    return keys[first], np.add.reduceat(counts, first) if len(first) else counts


class PairRuns:
    """Writes pairs as ascending distinct keys.

    Args:
        folder: of the part.
        name: beginning of the files' names.
        counted: keep how often each key came, too.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.division.runs import PairRuns, read_pairs
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     runs = PairRuns(Path(folder), "together", counted=True)
        ...     runs.add(np.array([7, 7, 9]))
        ...     runs.close()
        ...     keys, counts = read_pairs([Path(folder)], "together", 0, 8, counted=True)
        >>> keys.tolist(), counts.tolist()
        ([7], [2])
    """

    def __init__(self, folder: Path, name: str, *, counted: bool = False) -> None:
        self._folder, self._name, self._counted = folder, name, counted
        self._pieces: list[NDArray[np.int64]] = []
        self._size = 0
        self._number = itertools.count()

    def add(self, keys: NDArray[np.int64]) -> None:
        """Put keys in, in any order."""
        self._pieces.append(keys)
        self._size += len(keys)
        if self._size >= PAIRS:
            self.close()

    def close(self) -> None:
        """Write what is left."""
        if not self._size:
            return
        keys = np.concatenate(self._pieces)
        stem = f"{self._name}-{next(self._number):06d}"
        if self._counted:
            keys, counts = sum_equal(keys, np.ones(len(keys), np.int64))
            np.save(self._folder / f"{stem}.counts.npy", counts.astype(np.int32))
        else:
            keys = distinct(keys)
        np.save(self._folder / f"{stem}.keys.npy", keys)
        self._pieces, self._size = [], 0


def read_pairs(
    folders: Sequence[Path], name: str, low: int, high: int, *, counted: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct keys from ``low`` to before ``high`` of all runs of some parts, and how often each came."""
    keys, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for file in _files(folders, name, ".keys.npy"):
        values = load_array(file)
        first, last = np.searchsorted(values, [low, high])
        keys.append(np.array(values[first:last]))
        if counted:
            times = load_array(file.with_name(file.name.replace(".keys.npy", ".counts.npy")))
            counts.append(np.array(times[first:last], np.int64))
    if counted:
        return sum_equal(np.concatenate(keys), np.concatenate(counts))
    return distinct(np.concatenate(keys)), np.empty(0, np.int64)


class TextRuns:
    """Writes texts in the order of their papers' rows.

    Args:
        folder: of the part.
        name: beginning of the files' names.
        schema: of the store's file.
        ties: integer column that orders the texts of one paper; without one they keep the order they came in.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.division.runs import TextRuns, read_texts
        >>> schema = pa.schema([("text", pa.string())])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     runs = TextRuns(Path(folder), "texts", schema)
        ...     runs.add(np.array([5, 2], np.int32), pa.record_batch({"text": ["late", "early"]}, schema=schema))
        ...     runs.close()
        ...     [batch["text"].to_pylist() for batch in read_texts([Path(folder)], "texts", 0, 9)]
        [['early', 'late']]
    """

    def __init__(self, folder: Path, name: str, schema: pa.Schema, *, ties: str | None = None) -> None:
        self._folder, self._name, self._schema, self._ties = folder, name, schema, ties
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[NDArray[np.int32]] = []
        self._size = 0
        self._number = itertools.count()

    def add(self, rows: NDArray[np.int32], batch: pa.RecordBatch) -> None:
        """Put texts in, in any order."""
        self._batches.append(batch)
        self._rows.append(rows)
        self._size += len(rows)
        if self._size >= TEXTS:
            self.close()

    def close(self) -> None:
        """Write what is left."""
        if not self._size:
            return
        stem = f"{self._name}-{next(self._number):06d}"
        rows, table = _sorted(self._rows, pa.Table.from_batches(self._batches, self._schema), self._ties)
        writer = SpillWriter(self._folder / f"{stem}.arrow", self._schema)
        for batch in table.to_batches(max_chunksize=BATCH):
            writer.write(batch)
        writer.close()
        np.save(self._folder / f"{stem}.rows.npy", rows)
        self._batches, self._rows, self._size = [], [], 0


def read_texts(
    folders: Sequence[Path], name: str, low: int, high: int, *, ties: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The texts of the rows from ``low`` to before ``high`` of all runs of some parts, in their order."""
    tables, rows = [], []
    for file in _files(folders, name, ".rows.npy"):
        values = load_array(file)
        first, last = np.searchsorted(values, [low, high]).tolist()
        if first < last:
            rows.append(np.array(values[first:last]))
            whole = pa.ipc.open_file(pa.memory_map(str(file).replace(".rows.npy", ".arrow"))).read_all()
            tables.append(whole.slice(first, last - first))
    if rows:
        yield from _sorted(rows, pa.concat_tables(tables), ties)[1].to_batches()


def text_rows(folder: Path, name: str) -> Iterator[NDArray[np.int32]]:
    """The rows of the papers of a part's texts, run by run."""
    for file in _files([folder], name, ".rows.npy"):
        yield load_array(file, mapped=False)


def _files(folders: Sequence[Path], name: str, suffix: str) -> Iterator[Path]:
    """The runs of some parts in the order of the source."""
    for folder in folders:
        yield from sorted(folder.glob(f"{name}-*{suffix}"))


def _sorted(
    pieces: Sequence[NDArray[np.int32]], table: pa.Table, ties: str | None
) -> tuple[NDArray[np.int32], pa.Table]:
    rows = np.concatenate(pieces)
    if ties is None and (np.diff(rows) >= 0).all():
        return rows, table
    order = np.lexsort((table.column(ties).to_numpy(), rows) if ties else (rows,))
    if np.array_equal(order, np.arange(len(order))):
        return rows, table
    return rows[order], table.take(pa.array(order))
