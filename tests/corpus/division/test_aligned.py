from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cocite.corpus import spill
from cocite.corpus.division import aligned
from cocite.corpus.division.aligned import AlignedWriter, join
from cocite.corpus.spill import BatchWriter

SCHEMA = pa.schema([("text", pa.string()), ("list", pa.list_(pa.string()))])


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=5))
@example([[4, 4], [8], [3], [1]])
def test_joined_pieces_are_the_file_that_one_process_writes(tmp_path: Path, pieces: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (spill, aligned):
            patch.setattr(module, "BATCH", 4)
        whole = BatchWriter(tmp_path / "whole.arrow", SCHEMA)
        paths = []
        for number, sizes in enumerate(pieces):
            paths.append(tmp_path / f"{number}.arrow")
            piece = AlignedWriter(paths[-1], SCHEMA, whole.rows)
            for size in sizes:
                rows = [{"text": "x" * (number + i), "list": ["y"] * i} for i in range(size)]
                batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
                piece.write(batch)
                whole.write(batch)
            piece.close()
            assert piece.rows == sum(sizes)
        whole.close()
        joined = BatchWriter(tmp_path / "joined.arrow", SCHEMA)
        join(paths, joined)
        joined.close()
    assert joined.rows == whole.rows
    assert (tmp_path / "joined.arrow").read_bytes() == (tmp_path / "whole.arrow").read_bytes()
