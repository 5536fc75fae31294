"""Files that grow as a store is built: equal record batches, spilled rows and pairs, arrays of unknown length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.store import BATCH


class BatchWriter:
    """Writes an Arrow file of record batches of ``BATCH`` rows from batches of any size.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pyarrow as pa
        >>> from cocite.corpus.spill import BatchWriter, read_batches
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = BatchWriter(Path(folder, "rows.arrow"), pa.schema([("row", pa.int32())]))
        ...     for start in (0, 10_000):
        ...         writer.write(pa.record_batch({"row": pa.array(range(start, start + 10_000), pa.int32())}))
        ...     writer.close()
        ...     [batch.num_rows for batch in read_batches(writer.path)]
        [16384, 3616]
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self.rows = 0
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)
        self._pieces: list[pa.RecordBatch] = []
        self._pending = 0

    def write_whole(self, batch: pa.RecordBatch) -> None:
        """Append a batch that was read from a file: one of ``BATCH`` rows is written as it is where nothing waits."""
        if self._pieces or batch.num_rows != BATCH:
            self.write(batch)
            return
        self.rows += BATCH
        self._writer.write_batch(batch)

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self.rows += batch.num_rows
        if not self._pieces and batch.num_rows == BATCH:
            self._writer.write_batch(_exact(batch))
        elif batch.num_rows:
            self._pieces.append(batch)
            self._pending += batch.num_rows
            if self._pending >= BATCH:
                self._flush()

    def _flush(self, *, last: bool = False) -> None:
        if not self._pieces:
            return
        table = pa.Table.from_batches(self._pieces, self.schema).combine_chunks()
        full = table.num_rows if last else table.num_rows // BATCH * BATCH
        for start in range(0, full, BATCH):
            for batch in table.slice(start, min(BATCH, full - start)).to_batches():
                self._writer.write_batch(_exact(batch))
        rest = table.slice(full)
        # A slice keeps its parent alive: copy the rest, which is less than one batch.
        self._pieces = [_copied(batch) for batch in rest.to_batches()] if rest.num_rows else []
        self._pending = rest.num_rows

    def close(self) -> None:
        """Write what is left and end the file."""
        self._flush(last=True)
        self._writer.close()
        self._sink.close()


def exact_batches(pieces: Sequence[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """At most ``BATCH`` rows in several pieces as one batch."""
    for batch in pa.Table.from_batches(pieces, schema).combine_chunks().to_batches():
        yield _exact(batch)


def _exact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows without what follows them in their buffers: of a slice, Arrow would write some of that, too.

    With this the bytes of a file do not depend on the batches that its rows came in.
    """
    rows = pa.array(np.arange(batch.num_rows), pa.int32())
    columns = [
        column.take(rows) if pa.types.is_list(column.type) else _exact_text(column)
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _exact_text(column: pa.Array) -> pa.Array:
    """A column of texts whose bytes end with the last one; other columns are as they are."""
    if not pa.types.is_string(column.type) or not len(column):
        return column
    valid, offsets, data = column.buffers()
    if data is None:
        return column
    end = int(np.frombuffer(offsets, np.int32)[column.offset + len(column)])
    return pa.Array.from_buffers(
        column.type, len(column), [valid, offsets, data.slice(0, end)], offset=column.offset
    )


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.take(pa.array(np.arange(batch.num_rows), pa.int32()))


class SpillWriter:
    """Writes batches of any size to an Arrow file that is read back once and removed.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pyarrow as pa
        >>> from cocite.corpus.spill import SpillWriter, read_batches
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spill = SpillWriter(Path(folder, "ids.spill"), pa.schema([("id", pa.string())]))
        ...     for ids in (["a", "b"], [], ["c"]):
        ...         spill.write(pa.record_batch({"id": pa.array(ids, pa.string())}))
        ...     spill.close()
        ...     [batch.num_rows for batch in read_batches(spill.path)]
        [2, 1]
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.rows = 0
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Append one batch."""
        if batch.num_rows:
            self._writer.write_batch(batch)
            self.rows += batch.num_rows

    def close(self) -> None:
        """End the file."""
        self._writer.close()
        self._sink.close()


def read_batches(
    path: Path, columns: list[str] | None = None, *, mapped: bool = False
) -> Iterator[pa.RecordBatch]:
    """The record batches of an Arrow file, read one at a time: nothing stays in memory.

    Args:
        path: of the file.
        columns: that are read; None: all.
        mapped: map the file instead, where few columns of a batch may be looked at.
    """
    with pa.memory_map(str(path)) if mapped else pa.OSFile(str(path), "rb") as source:
        options = pa.ipc.IpcReadOptions()
        if columns is not None:
            schema = pa.ipc.open_file(source).schema
            options = pa.ipc.IpcReadOptions(
                included_fields=[schema.get_field_index(name) for name in columns]
            )
        reader = pa.ipc.open_file(source, options=options)
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)


class NpyWriter:
    """Writes a one-dimensional ``.npy`` file whose length is known only at its end.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from cocite.artifacts import load_array
        >>> from cocite.corpus.spill import NpyWriter
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = NpyWriter(Path(folder, "rows.npy"), np.int32)
        ...     writer.write(np.arange(2))
        ...     writer.write(np.arange(5, 8))
        ...     writer.close()
        ...     load_array(Path(folder, "rows.npy")).tolist()
        [0, 1, 5, 6, 7]
    """

    # numpy aligns the data to 64 bytes; a header of any length fits into two such blocks.
    _HEADER = 128

    def __init__(self, path: Path, dtype: np.dtype[Any] | type) -> None:
        self.dtype = np.dtype(dtype)
        self.count = 0
        self._file: BinaryIO = path.open("wb")
        self._file.write(b" " * self._HEADER)

    def write(self, values: NDArray[Any]) -> None:
        """Append values."""
        # ``ndarray.tofile`` makes a TypeError of an interrupt.
        self._file.write(np.ascontiguousarray(values, self.dtype).data)
        self.count += len(values)

    def close(self) -> None:
        """Write the header, now that the length is known."""
        text = f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': ({self.count},), }}"
        # Ten bytes of magic, version and length come before the text, and a newline ends it.
        body = text.encode().ljust(self._HEADER - 11) + b"\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body)
        self._file.close()


class PairFile:
    """Fixed-size binary records, appended in blocks and read back in blocks.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from cocite.corpus.spill import PairFile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pairs = PairFile(Path(folder, "links.pairs"), np.dtype([("row", "<i4"), ("entry", "<i4")]))
        ...     pairs.write(np.array([0, 0, 1]), np.array([5, 6, 7]))
        ...     [block["entry"].tolist() for block in pairs.blocks(2)]
        [[5, 6], [7]]
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.path = path
        self.dtype = dtype
        self.count = 0
        self._file: BinaryIO = path.open("wb")

    def write(self, *columns: NDArray[Any]) -> None:
        """Append records, given as one array for each field."""
        records = np.empty(len(columns[0]), self.dtype)
        for name, values in zip(self.dtype.names or (), columns, strict=True):
            records[name] = values
        self._file.write(np.ascontiguousarray(records).data)
        self.count += len(records)

    def blocks(self, size: int) -> Iterator[NDArray[Any]]:
        """The records, ``size`` at a time. Nothing can be written any more."""
        self._file.close()
        with self.path.open("rb") as file:
            while len(block := np.fromfile(file, self.dtype, size)):
                yield block

    def drop(self) -> None:
        """Remove the file."""
        self._file.close()
        self.path.unlink(missing_ok=True)
