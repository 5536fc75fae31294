"""Reads lines of JSON in blocks, by Arrow's parser of columns where it gives what Python's parser gives.

Arrow reads some ten times as fast. It refuses a line whose fields are not those of :data:`RAW`, or not of their types,
a field that is given twice, and broken strings; such lines are left to the reading of one record after the other.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from cocite.corpus.fields import CONTEXT, PAPER
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.json_values import CHUNK, MAX_LINE
from cocite.corpus.record_block import RAW

BLOCK = 1 << 22
"""Bytes of a block, about: it ends with a line."""
SMALLEST = 16
"""Lines that are not divided further when the parser refuses them."""
PAUSE = 15
"""Blocks that are not tried after one whose lines were mostly refused."""

_NULL = re.compile(rb'"([a-z]+)"[ \t\r]*:[ \t\r]*null')
_ESCAPED_NAME = re.compile(rb"\\u00[67]")
"""A letter of a field's name may be written so; in texts nobody does."""
_OPEN, _CLOSE, _RETURN = b"{}\r"


class LineBlock:
    """The lines of a block of bytes.

    Args:
        data: whole lines; the last may lack its end.

    Attributes:
        starts: (lines,) the byte at which each line begins.
        ends: (lines,) where the next one begins.

    Example:
        >>> from cocite.corpus.importers.line_blocks import LineBlock
        >>> block = LineBlock(b'{"id": "a"}\\n\\nno JSON\\n{"id": "b"}\\n')
        >>> columns, lines, others = block.columns()
        >>> columns["id"].to_pylist(), lines.tolist(), others.tolist()
        (['a', 'b'], [0, 3], [2])
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        self.ends = breaks + 1
        if len(data) and (not len(breaks) or self.ends[-1] < len(data)):
            self.ends = np.append(self.ends, len(data))
        self.starts = np.concatenate([[0], self.ends[:-1]]).astype(np.int64)

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, index: int) -> bytes:
        """A line with its end."""
        return self.data[self.starts[index] : self.ends[index]]

    def columns(self) -> tuple[pa.RecordBatch, NDArray[np.int64], NDArray[np.int64]]:
        """The lines by columns.

        Returns:
            ``(columns, lines, others)``: see :class:`~cocite.corpus.record_block.RecordBlock`.
        """
        whole = self._whole()
        parsed: list[tuple[pa.Table, NDArray[np.int64]]] = []
        if len(whole):
            self._parse(whole, parsed)
        table = pa.concat_tables([RAW.empty_table(), *(part for part, _ in parsed)]).combine_chunks()
        columns = next(iter(table.to_batches()), pa.RecordBatch.from_pylist([], schema=RAW))
        lines = np.concatenate([np.empty(0, np.int64), *(part for _, part in parsed)])
        named = self._absent_by_name(columns, lines)
        if len(named):
            keep = ~np.isin(lines, named)
            columns, lines = columns.filter(pa.array(keep)), lines[keep]
        others = np.setdiff1d(np.arange(len(self)), lines)
        return columns, lines, others[[not self.line(i).isspace() for i in others.tolist()]]

    def no_columns(self) -> tuple[pa.RecordBatch, NDArray[np.int64], NDArray[np.int64]]:
        """The same with no line read by columns."""
        filled = [i for i in range(len(self)) if not self.line(i).isspace()]
        return (
            pa.RecordBatch.from_pylist([], schema=RAW),
            np.empty(0, np.int64),
            np.array(filled, np.int64),
        )

    def _whole(self) -> NDArray[np.int64]:
        """Lines that begin and end as an object does.

        Arrow's parser takes one object after the other, whatever the lines are. Where every line begins and ends so,
        and there are as many objects as lines, each line is one object: a line's end within an object would have to
        follow a comma or an opening bracket.
        """
        bytes_ = np.frombuffer(self.data, np.uint8)
        last = self.ends - 1
        last = np.where(bytes_[last] == ord("\n"), last - 1, last)
        last = np.where((last >= self.starts) & (bytes_[last] == _RETURN), last - 1, last)
        long_enough = last > self.starts
        is_object = long_enough & (bytes_[self.starts] == _OPEN) & (bytes_[last] == _CLOSE)
        return np.flatnonzero(is_object & (self.ends - self.starts < MAX_LINE))

    def _parse(self, lines: NDArray[np.int64], parsed: list[tuple[pa.Table, NDArray[np.int64]]]) -> None:
        """Parse some lines; where they are refused, each half of them, so that few lines suffer from a bad one."""
        if int(lines[-1]) - int(lines[0]) + 1 == len(lines):
            data = self.data[self.starts[lines[0]] : self.ends[lines[-1]]]
        else:
            data = b"".join(map(self.line, lines.tolist()))
        table = _parsed(data)
        if table is not None and table.num_rows == len(lines):
            parsed.append((table, lines))
        elif len(lines) > SMALLEST:
            middle = len(lines) // 2
            self._parse(lines[:middle], parsed)
            self._parse(lines[middle:], parsed)

    def _absent_by_name(self, columns: pa.RecordBatch, lines: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lines in which a field may be null that their kind of record does not have.

        The name of a field alone makes a record a context, or is reported as unknown, but Arrow gives an absent field
        and one that is null alike.
        """
        # Looking for a plain word first is far quicker than any pattern.
        escaped = _ESCAPED_NAME.finditer(self.data) if b"\\u00" in self.data else iter(())
        absent = _NULL.finditer(self.data) if b"null" in self.data else iter(())
        found: list[int] = [match.start() for match in escaped]
        nulls: dict[bytes, list[int]] = {}
        for match in absent:
            nulls.setdefault(match[1], []).append(match.start())
        contexts = lines[columns["context"].is_valid().to_numpy(zero_copy_only=False)]
        result = [self._lines_at(found)]
        for name, places in nulls.items():
            at = self._lines_at(places)
            is_context = np.isin(at, contexts)
            known = np.where(is_context, name.decode() in CONTEXT, name.decode() in PAPER)
            result.append(at[~known])
        return np.unique(np.concatenate(result))

    def _lines_at(self, places: Sequence[int]) -> NDArray[np.int64]:
        return np.searchsorted(self.starts, np.array(places, np.int64), side="right") - 1


def line_blocks(stream: InputFile, size: int | None) -> Iterator[LineBlock]:
    """Blocks of whole lines from where a stream stands.

    Args:
        stream: the file.
        size: bytes after which no further line is begun; None: the file's.
    """
    left = sys.maxsize if size is None else size
    while left > 0 and (data := stream.read(min(BLOCK, left))):
        left -= len(data)
        pieces = [data]
        tail = 0
        while not pieces[-1].endswith(b"\n") and (rest := stream.readline(CHUNK)):
            left -= len(rest)
            tail += len(rest)
            # Of a line that is too long the beginning is kept, and what makes it too long.
            if tail <= MAX_LINE + CHUNK or rest.endswith(b"\n"):
                pieces.append(rest)
        yield LineBlock(b"".join(pieces) if tail else data)


def _parsed(data: bytes) -> pa.Table | None:
    """The columns of some lines; None where Arrow's parser refuses them."""
    read = pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    parse = pa.json.ParseOptions(
        explicit_schema=RAW, newlines_in_values=False, unexpected_field_behavior="error"
    )
    try:
        table = pa.json.read_json(pa.BufferReader(data), read_options=read, parse_options=parse)
        table.validate(full=True)  # that texts are UTF-8
    except pa.ArrowInvalid:
        return None
    return table
