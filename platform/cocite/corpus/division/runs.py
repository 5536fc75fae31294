"""Sorted runs of links and texts on disk: what a part holds, cut so that each run fits in memory.

The runs of a part lie in one file, in chunks of rows that Arrow reads one by one. Of each chunk an index says what it
holds and where, so that whoever wants a range of rows reads nothing else of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.csr import distinct
from cocite.corpus.store import BATCH
from cocite.part_files import PartFiles

PAIRS = 1 << 20
"""Pairs of a run."""
TEXTS = 1 << 16
"""Texts of a run."""
PAIR_CHUNK = 1 << 14
"""Pairs that are read together."""
TEXT_CHUNK = 1 << 10
"""Texts that are read together."""
KINDS = ("cites", "cited_by", "cocitations", "contexts", "sentences")
"""Of what runs hold."""
RUNS, INDEX = "runs.bin", "index.bin"
"""Files of a part."""
ENTRY = np.dtype(
    [("part", "<i4"), ("kind", "<i4"), ("first", "<i8"), ("last", "<i8"), ("start", "<i8"), ("stop", "<i8")]
)
"""Of the index: a chunk's part and kind, its first and last key, its first byte and the one behind its last."""
KEY = pa.field("key", pa.int64())
COUNT = pa.field("count", pa.int32())


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


class RunFile:
    """Writes the runs of a part one behind the other.

    Args:
        folder: of the part.
        part: its number.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = RunFile(Path(folder), 3)
        ...     file.write("cites", pa.table({"key": [7, 9]}, pa.schema([KEY])), PAIR_CHUNK)
        ...     file.close()
        ...     read_index(Path(folder))[["part", "first", "last"]].tolist()
        [(3, 7, 9)]
    """

    def __init__(self, folder: Path, part: int) -> None:
        self.folder = folder
        self._part = part
        self._file = (folder / RUNS).open("wb")
        self._entries: list[tuple[int, ...]] = []

    def write(self, kind: str, run: pa.Table, chunk: int) -> None:
        """Append a run: a table that is in the order of its column ``key``, in chunks of so many rows."""
        for batch in run.to_batches(max_chunksize=chunk):
            if not len(batch):  # a block of the source gave no rows
                continue
            keys, start = batch["key"], self._file.tell()
            self._file.write(batch.serialize())
            place = (start, self._file.tell())
            self._entries.append((self._part, KINDS.index(kind), keys[0].as_py(), keys[-1].as_py(), *place))

    def close(self) -> None:
        """End the file, and write its index."""
        self._file.close()
        (self.folder / INDEX).write_bytes(np.array(self._entries, ENTRY).tobytes())


def read_index(folder: Path) -> NDArray[np.void]:
    """The index of a part, or of several, mapped."""
    path = folder / INDEX
    return np.memmap(path, ENTRY, "r") if path.stat().st_size else np.empty(0, ENTRY)


@dataclass(frozen=True)
class Runs:
    """The runs of some parts.

    Attributes:
        files: that hold the parts.
        folder: of the parts' folders, which have their numbers as names.
        index: of all parts, in their order.

    Example:
        >>> import tempfile
        >>> from cocite.part_files import LocalFiles
        >>> with tempfile.TemporaryDirectory() as root:
        ...     folder = Path(root, "resolved", "00000")
        ...     folder.mkdir(parents=True)
        ...     file = RunFile(folder, 0)
        ...     links = PairRuns(file, "cites")
        ...     links.add(np.array([9, 7, 7]))
        ...     links.flush()
        ...     file.close()
        ...     Runs(LocalFiles(Path(root)), "resolved", read_index(folder)).pairs("cites", 0, 8)[0].tolist()
        [7]
    """

    files: PartFiles
    folder: str
    index: NDArray[np.void]

    def pairs(
        self, kind: str, low: int, high: int, *, counted: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct keys from ``low`` to before ``high`` of all runs, and how often each came."""
        found = self._between(kind, pa.schema([COUNT] if counted else []), low, high)
        keys = found["key"].to_numpy()
        if counted:
            return sum_equal(keys, found["count"].to_numpy().astype(np.int64))
        return distinct(keys), np.empty(0, np.int64)

    def texts(
        self, kind: str, schema: pa.Schema, low: int, high: int, *, ties: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The texts of the rows from ``low`` to before ``high`` of all runs, in their order."""
        found = self._between(kind, schema, low, high)
        yield from _sorted(found, ties).drop_columns("key").to_batches(max_chunksize=BATCH)

    def _between(self, kind: str, schema: pa.Schema, low: int, high: int) -> pa.Table:
        """What all runs of a kind hold of a range of keys, in the order of the source."""
        index, schema = self.index, pa.schema([KEY, *schema])
        is_here = (index["kind"] == KINDS.index(kind)) & (index["first"] < high) & (index["last"] >= low)
        chunks = index[is_here]
        # Chunks that follow each other in a file are read at once.
        follows = (chunks["part"][1:] == chunks["part"][:-1]) & (chunks["start"][1:] == chunks["stop"][:-1])
        groups = np.split(chunks, np.flatnonzero(~follows) + 1) if len(chunks) else []
        places = [
            (
                f"{self.folder}/{int(group['part'][0]):05d}/{RUNS}",
                int(group["start"][0]),
                int(group["stop"][-1]),
            )
            for group in groups
        ]
        batches = []
        for group, piece in zip(groups, self.files.pieces(places), strict=True):
            for start, stop in group[["start", "stop"]].tolist():
                at = start - int(group["start"][0])
                batch = pa.ipc.read_record_batch(piece.slice(at, stop - start), schema)
                first, last = np.searchsorted(batch["key"].to_numpy(), [low, high]).tolist()
                if first < last:
                    batches.append(batch.slice(first, last - first))
        return pa.Table.from_batches(batches, schema)


class PairRuns:
    """Writes pairs as ascending distinct keys.

    Args:
        file: of the part.
        kind: one of ``KINDS``.
        counted: keep how often each key came, too.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = RunFile(Path(folder), 0)
        ...     runs = PairRuns(file, "cocitations", counted=True)
        ...     runs.add(np.array([9, 7, 7]))
        ...     runs.flush()
        ...     file.close()
        ...     read_index(Path(folder))[["first", "last"]].tolist()
        [(7, 9)]
    """

    def __init__(self, file: RunFile, kind: str, *, counted: bool = False) -> None:
        self._file, self._kind, self._counted = file, kind, counted
        self._pieces: list[NDArray[np.int64]] = []
        self._size = 0

    def add(self, keys: NDArray[np.int64]) -> None:
        """Put keys in, in any order."""
        self._pieces.append(keys)
        self._size += len(keys)
        if self._size >= PAIRS:
            self.flush()

    def flush(self) -> None:
        """Write what is in memory."""
        if not self._size:
            return
        keys = np.concatenate(self._pieces)
        if self._counted:
            keys, counts = sum_equal(keys, np.ones(len(keys), np.int64))
            columns, schema = [keys, counts.astype(np.int32)], pa.schema([KEY, COUNT])
        else:
            columns, schema = [distinct(keys)], pa.schema([KEY])
        table = pa.Table.from_arrays([pa.array(column) for column in columns], schema=schema)
        self._file.write(self._kind, table, PAIR_CHUNK)
        self._pieces, self._size = [], 0


class TextRuns:
    """Writes texts in the order of their papers' rows.

    Args:
        file: of the part.
        kind: one of ``KINDS``.
        schema: of the store's file.
        ties: integer column that orders the texts of one paper; without one they keep the order they came in.

    Attributes:
        degrees: rows of papers, and how many texts each has, of each run.

    Example:
        >>> import tempfile
        >>> schema = pa.schema([("text", pa.string())])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = RunFile(Path(folder), 0)
        ...     runs = TextRuns(file, "contexts", schema)
        ...     runs.add(np.array([5, 2], np.int32), pa.record_batch({"text": ["late", "early"]}, schema=schema))
        ...     runs.flush()
        ...     file.close()
        ...     read_index(Path(folder))[["first", "last"]].tolist(), [rows.tolist() for rows, _ in runs.degrees]
        ([(2, 5)], [[2, 5]])
    """

    def __init__(self, file: RunFile, kind: str, schema: pa.Schema, *, ties: str | None = None) -> None:
        self.degrees: list[tuple[NDArray[np.int32], NDArray[np.int64]]] = []
        self._file, self._kind, self._ties = file, kind, ties
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[NDArray[np.int32]] = []
        self._size = 0

    def add(self, rows: NDArray[np.int32], batch: pa.RecordBatch) -> None:
        """Put texts in, in any order."""
        self._batches.append(batch)
        self._rows.append(rows)
        self._size += len(rows)
        if self._size >= TEXTS:
            self.flush()

    def flush(self) -> None:
        """Write what is in memory."""
        if not self._size:
            return
        rows = np.concatenate(self._rows)
        table = pa.Table.from_batches(self._batches, self._schema).add_column(
            0, KEY, pa.array(rows, KEY.type)
        )
        self._file.write(self._kind, _sorted(table, self._ties), TEXT_CHUNK)
        distinct_rows, counts = np.unique(rows, return_counts=True)
        self.degrees.append((distinct_rows, counts))
        self._batches, self._rows, self._size = [], [], 0


def _sorted(table: pa.Table, ties: str | None) -> pa.Table:
    """A table in the order of its keys."""
    keys = table["key"].to_numpy()
    if ties is None and (np.diff(keys) >= 0).all():
        return table
    order = np.lexsort((table[ties].to_numpy(), keys) if ties else (keys,))
    if np.array_equal(order, np.arange(len(order))):
        return table
    # Of a column in many chunks Arrow takes rows far slower.
    return table.combine_chunks().take(pa.array(order))
