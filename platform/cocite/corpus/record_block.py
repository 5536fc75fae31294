"""A block of a source's lines, read by columns where they are plain, and one by one where they are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.records import Record

_NAMES = pa.list_(pa.string())
RAW = pa.schema(
    [
        # papers
        ("id", pa.string()),
        ("title", pa.string()),
        ("abstract", pa.string()),
        ("year", pa.int64()),
        ("venue", pa.string()),
        ("authors", _NAMES),
        ("keyphrases", _NAMES),
        ("doi", pa.string()),
        ("split", pa.string()),
        ("citations", _NAMES),
        # contexts
        ("citing", pa.string()),
        ("cited", _NAMES),
        ("context", pa.string()),
        ("sentence", pa.int64()),
        ("section", pa.string()),
        ("group", pa.int64()),
        ("unresolved", pa.int64()),
    ]
)
"""The columns of papers and contexts in their commonest form; an absent field is null."""


@dataclass
class RecordBlock:
    """Consecutive lines of a source.

    Attributes:
        file: the name of the file that the lines are from.
        first_line: number of the first line in it.
        columns: the lines that were read by columns, as ``RAW``. They need not be plain: whoever takes the block looks
            at their values, and reads those that break a rule by ``read``.
        lines: (columns.num_rows,) the line of each row, ascending, counted from 0 in the block.
        others: the further lines that hold records, likewise.
        read: gives the records of a line, from the line and the number of the next context without an id.
        number: of the next context without an id; whoever takes the block moves it on.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers import open_source
        >>> _ = Path("two.jsonl").write_text('{"id": "a", "title": "A"}\\nno JSON\\n')
        >>> block = next(open_source("two.jsonl").record_blocks())
        >>> block.columns["id"].to_pylist(), block.others.tolist()
        (['a'], [1])
        >>> [record.rule for record in block.read(1, 0)]
        ['malformed']
    """

    file: str
    first_line: int
    columns: pa.RecordBatch
    lines: NDArray[np.int64]
    others: NDArray[np.int64]
    read: Callable[[int, int], Iterator[Record]]
    number: int = 0
