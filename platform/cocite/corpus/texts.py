"""Contexts and sentences: spilled as they come, resolved and put in order of their paper's row at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.idtable import IdTable
from cocite.corpus.links import bounds
from cocite.corpus.spill import BatchWriter, SpillWriter, read_batches

CHUNK = 16384
"""Records spilled at a time."""
BUCKET = 1 << 16
"""Texts put in order at a time."""

CONTEXT_SPILL = pa.schema(
    [
        ("citing", pa.uint64()),
        ("cited", pa.list_(pa.uint64())),
        ("id", pa.string()),
        ("text", pa.string()),
        ("sentence", pa.int32()),
        ("section", pa.string()),
        ("group", pa.int32()),
        ("unresolved", pa.int32()),
        ("file", pa.int32()),
        ("line", pa.int64()),
    ]
)
SENTENCE_SPILL = pa.schema(
    [
        ("paper", pa.uint64()),
        ("position", pa.int32()),
        ("section", pa.string()),
        ("text", pa.string()),
        ("file", pa.int32()),
        ("line", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Order:
    """What a first pass over a spill's hashes tells."""

    degrees: NDArray[np.int32]
    """(N,) texts of each paper."""
    sorted: bool
    """Whether they already stand in the order of their papers' rows."""


def survey(path: Path, key: str, table: IdTable) -> Order:
    """Count the texts of each paper and see whether they come in order."""
    degrees = np.zeros(len(table), np.int32)
    last, in_order = -1, True
    for batch in read_batches(path, [key]):
        rows = table.find(batch.column(0).to_numpy())
        rows = rows[rows >= 0]
        np.add.at(degrees, rows, 1)
        if len(rows):
            in_order = in_order and int(rows[0]) >= last and bool((np.diff(rows) >= 0).all())
            last = int(rows[-1])
    return Order(degrees, in_order)


def write_ordered(
    spill: Path,
    order: Order,
    writer: BatchWriter,
    resolve: Callable[[pa.RecordBatch], tuple[NDArray[np.int32], pa.RecordBatch]],
    *,
    scratch: Path,
    ties: str | None = None,
) -> None:
    """Write a spill's texts in the order of their papers' rows.

    Args:
        spill: the file.
        order: what :func:`survey` told of it.
        writer: where the texts go.
        resolve: turns a spilled batch into the rows of its papers and the store's columns, without what is rejected.
        scratch: where buckets are kept while they are put in order.
        ties: integer column that orders the texts of one paper; without one they keep the order they came in.
    """
    if order.sorted and ties is None:
        for batch in read_batches(spill):
            writer.write(resolve(batch)[1])
        return
    schema = writer.schema.append(pa.field("__row", pa.int32()))
    limits = bounds(order.degrees, BUCKET)
    if len(limits) <= 1:
        pieces = [_with_row(*resolve(batch), schema) for batch in read_batches(spill)]
        _write_sorted(pieces, schema, writer, ties)
        return
    files: dict[int, SpillWriter] = {}
    if order.sorted:
        _write_sorted_runs(spill, writer, resolve, schema, ties)
        return
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
    resolve: Callable[[pa.RecordBatch], tuple[NDArray[np.int32], pa.RecordBatch]],
    schema: pa.Schema,
    ties: str | None,
) -> None:
    """The texts come by paper already: only those of one paper may need sorting, one bucket of papers at a time."""
    pieces: list[pa.RecordBatch] = []
    held = 0
    for batch in read_batches(spill):
        piece = _with_row(*resolve(batch), schema)
        if not piece.num_rows:
            continue
        rows = piece.column("__row").to_numpy()
        if held >= BUCKET and rows[0] != rows[-1]:
            # The last paper of the batch may go on in the next one; all before it are complete.
            cut = int(np.searchsorted(rows, rows[-1]))
            _write_sorted([*pieces, piece.slice(0, cut)], schema, writer, ties)
            pieces, held = [piece.slice(cut)], 0
        else:
            pieces.append(piece)
        held += piece.num_rows
    _write_sorted(pieces, schema, writer, ties)


def _with_row(rows: NDArray[np.int32], columns: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*columns.columns, pa.array(rows, pa.int32())], schema=schema)


def _write_sorted(
    pieces: list[pa.RecordBatch], schema: pa.Schema, writer: BatchWriter, ties: str | None
) -> None:
    if not pieces:
        return
    table = pa.Table.from_batches(pieces, schema)
    rows = table.column("__row").to_numpy()
    keys = (table.column(ties).to_numpy(), rows) if ties else (rows,)
    order = np.lexsort(keys)
    columns = table.select(writer.schema.names)
    if not np.array_equal(order, np.arange(len(order))):
        columns = columns.take(pa.array(order))
    for batch in columns.to_batches(max_chunksize=CHUNK):
        writer.write(batch)
