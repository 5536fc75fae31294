"""Pieces of an Arrow file of equal record batches, cut where the batches of the whole file begin."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from cocite.corpus.spill import BatchWriter, SpillWriter, exact_batches
from cocite.corpus.store import BATCH


class AlignedWriter:
    """Writes rows that stand within a larger file, so that whoever joins the pieces copies whole batches.

    Args:
        path: of the piece.
        schema: of the file.
        start: rows of the file before the piece.

    Attributes:
        rows: written so far.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.division.aligned import AlignedWriter
        >>> from cocite.corpus.spill import read_batches
        >>> schema = pa.schema([("row", pa.int32())])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = AlignedWriter(Path(folder, "piece.arrow"), schema, start=16_000)
        ...     writer.write(pa.record_batch({"row": pa.array(range(20_000), pa.int32())}))
        ...     writer.close()
        ...     [batch.num_rows for batch in read_batches(Path(folder, "piece.arrow"))]
        [384, 16384, 3232]
    """

    def __init__(self, path: Path, schema: pa.Schema, start: int) -> None:
        self.rows = 0
        self._writer = SpillWriter(path, schema)
        self._schema = schema
        self._room = BATCH - start % BATCH
        self._pieces: list[pa.RecordBatch] = []
        self._pending = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self.rows += batch.num_rows
        while self._pending + batch.num_rows >= self._room:
            cut = self._room - self._pending
            self._flush(batch.slice(0, cut))
            batch, self._room = batch.slice(cut), BATCH
        if batch.num_rows:
            self._pieces.append(batch)
            self._pending += batch.num_rows

    def _flush(self, last: pa.RecordBatch) -> None:
        for batch in exact_batches([*self._pieces, last], self._schema):
            self._writer.write(batch)
        self._pieces, self._pending = [], 0

    def close(self) -> None:
        """Write what is left and end the file."""
        if self._pending:
            self._flush(self._pieces.pop())
        self._writer.close()


def join(pieces: Iterable[Path], writer: BatchWriter) -> None:
    """Append the rows of some pieces to a file; batches that are whole are copied as they are."""
    for path in pieces:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            for i in range(reader.num_record_batches):
                writer.write_whole(reader.get_batch(i))
