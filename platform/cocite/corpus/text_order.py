"""Puts spilled contexts or sentences in the order of their papers' rows: a bucket sort on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.idtable import IdTable
from cocite.corpus.links import bucket_limits
from cocite.corpus.spill import BatchWriter, SpillWriter, read_batches
from cocite.corpus.store import BATCH

BUCKET = 1 << 16
"""Texts sorted in memory at a time."""
_ROW = "__row"
"""A column for the row of a text's paper while texts are sorted."""

Resolve = Callable[[pa.RecordBatch], tuple[NDArray[np.int32], pa.RecordBatch]]
"""Turns a spilled batch into the rows of its papers and the store's columns, without what is rejected."""


@dataclass(frozen=True)
class SortOrder:
    """The number of texts of each paper in a spill, and whether they are in order.

    Attributes:
        degrees: (N,) texts of each paper.
        is_sorted: whether the texts already stand in the order of their papers' rows.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pyarrow as pa
        >>> from cocite.corpus.idtable import IdTable
        >>> from cocite.corpus.spill import SpillWriter
        >>> from cocite.corpus.text_order import read_sort_order
        >>> table = IdTable()
        >>> _ = table.add(["a", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spill = SpillWriter(Path(folder, "texts.spill"), pa.schema([("paper", pa.uint64())]))
        ...     spill.write(pa.record_batch({"paper": pa.array(IdTable.hashes(["b", "a", "b"]))}))
        ...     spill.close()
        ...     order = read_sort_order(spill.path, "paper", table)
        >>> order.degrees.tolist(), order.is_sorted
        ([1, 2], False)
    """

    degrees: NDArray[np.int32]
    is_sorted: bool


def read_sort_order(path: Path, key: str, table: IdTable) -> SortOrder:
    """Read the hashes of a spill once, to count the texts of each paper and to see whether they are sorted.

    Args:
        path: the spill.
        key: its column with the hash of the paper's id.
        table: the papers of the store; a text of another paper is not counted.
    """
    degrees = np.zeros(len(table), np.int32)
    last, is_sorted = -1, True
    for batch in read_batches(path, [key]):
        rows = table.find(batch.column(0).to_numpy())
        rows = rows[rows >= 0]
        np.add.at(degrees, rows, 1)
        if len(rows):
            is_sorted = is_sorted and int(rows[0]) >= last and bool((np.diff(rows) >= 0).all())
            last = int(rows[-1])
    return SortOrder(degrees, is_sorted)


def write_ordered(
    spill: Path,
    order: SortOrder,
    writer: BatchWriter,
    resolve: Resolve,
    *,
    scratch: Path,
    ties: str | None = None,
) -> None:
    """Write a spill's texts in the order of their papers' rows.

    Args:
        spill: the file.
        order: of its texts, from :func:`read_sort_order`.
        writer: takes the texts.
        resolve: see :data:`Resolve`.
        scratch: a folder for the buckets while they are sorted.
        ties: integer column that orders the texts of one paper; without one they keep the order they came in.
    """
    if order.is_sorted and ties is None:
        for batch in read_batches(spill):
            writer.write(resolve(batch)[1])
        return
    schema = writer.schema.append(pa.field(_ROW, pa.int32()))
    limits = bucket_limits(order.degrees, BUCKET)
    if len(limits) <= 1:
        pieces = [_with_row(*resolve(batch), schema) for batch in read_batches(spill)]
        _write_sorted(pieces, schema, writer, ties)
        return
    if order.is_sorted:
        _write_sorted_runs(spill, writer, resolve, schema, ties)
    else:
        _write_buckets(spill, writer, resolve, schema, ties, limits, scratch)


def _write_buckets(
    spill: Path,
    writer: BatchWriter,
    resolve: Resolve,
    schema: pa.Schema,
    ties: str | None,
    limits: NDArray[np.int64],
    scratch: Path,
) -> None:
    """Distribute the texts over files for ranges of rows, then sort and write one file after another."""
    files: dict[int, SpillWriter] = {}
    for batch in read_batches(spill):
        rows, columns = resolve(batch)
        columns = _with_row(rows, columns, schema)
        owner = np.searchsorted(limits, rows, side="right")
        for b in np.unique(owner).tolist():
            if b not in files:
                files[b] = SpillWriter(scratch / f"{spill.stem}-{b}.bucket", schema)
            files[b].write(columns.take(pa.array(np.flatnonzero(owner == b))))
    for b in sorted(files):
        files[b].close()
        _write_sorted(list(read_batches(files[b].path)), schema, writer, ties)
        files[b].path.unlink()


def _write_sorted_runs(
    spill: Path,
    writer: BatchWriter,
    resolve: Resolve,
    schema: pa.Schema,
    ties: str | None,
) -> None:
    """The texts come by paper already: only those of one paper may need sorting, one bucket of papers at a time."""
    pieces: list[pa.RecordBatch] = []
    rows_kept = 0
    for batch in read_batches(spill):
        piece = _with_row(*resolve(batch), schema)
        if not piece.num_rows:
            continue
        rows = piece.column(_ROW).to_numpy()
        if rows_kept >= BUCKET and rows[0] != rows[-1]:
            # The last paper of the batch may go on in the next one; all before it are complete.
            cut = int(np.searchsorted(rows, rows[-1]))
            _write_sorted([*pieces, piece.slice(0, cut)], schema, writer, ties)
            pieces, rows_kept = [piece.slice(cut)], 0
        else:
            pieces.append(piece)
        rows_kept += piece.num_rows
    _write_sorted(pieces, schema, writer, ties)


def _with_row(rows: NDArray[np.int32], columns: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*columns.columns, pa.array(rows, pa.int32())], schema=schema)


def _write_sorted(
    pieces: list[pa.RecordBatch], schema: pa.Schema, writer: BatchWriter, ties: str | None
) -> None:
    if not pieces:
        return
    table = pa.Table.from_batches(pieces, schema)
    rows = table.column(_ROW).to_numpy()
    keys = (table.column(ties).to_numpy(), rows) if ties else (rows,)
    order = np.lexsort(keys)
    columns = table.select(writer.schema.names)
    if not np.array_equal(order, np.arange(len(order))):
        columns = columns.take(pa.array(order))
    for batch in columns.to_batches(max_chunksize=BATCH):
        writer.write(batch)
