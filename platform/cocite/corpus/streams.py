"""Streams of records that a store is built from, and positions in their sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from cocite.corpus.record_block import RecordBlock
from cocite.corpus.records import Record


@dataclass(slots=True)
class SourcePosition:
    """The file and line of a record in its source.

    Example:
        >>> from cocite.corpus.streams import SourcePosition
        >>> str(SourcePosition("papers.jsonl", 7))
        'papers.jsonl:7'
        >>> str(SourcePosition("papers.jsonl"))
        'papers.jsonl'
    """

    file: str = ""
    line: int = 0
    """1 for the first; a row in a Parquet file; 0 when unknown."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@runtime_checkable
class RecordStream(Protocol):
    """An iterable of records that says where in the source the last record stands.

    Example:
        >>> from cocite.corpus.streams import RecordStream
        >>> from cocite.corpus.synth import Synthetic
        >>> stream = Synthetic(10, context_rate=0)
        >>> isinstance(stream, RecordStream), isinstance([], RecordStream)
        (True, False)
        >>> [str(stream.position) for paper in stream][:2]
        ['synth:1', 'synth:2']
    """

    position: SourcePosition

    def __iter__(self) -> Iterator[Record]: ...


@runtime_checkable
class BlockStream(RecordStream, Protocol):
    """A stream that can give the records of many lines at a time.

    Example:
        >>> from cocite.corpus.importers import open_source
        >>> from cocite.corpus.starter import PAPERS
        >>> from cocite.corpus.streams import BlockStream
        >>> source = open_source(PAPERS)
        >>> isinstance(source, BlockStream), next(source.record_blocks()).first_line
        (True, 1)
    """

    def record_blocks(self) -> Iterator[Record | RecordBlock]:
        """The records, those of many lines at a time where the source allows it."""
        ...


@runtime_checkable
class FileRecordStream(RecordStream, Protocol):
    """A stream of records that is read from a file or folder.

    Example:
        >>> from cocite.corpus.importers import open_source
        >>> from cocite.corpus.starter import PAPERS
        >>> from cocite.corpus.streams import FileRecordStream
        >>> source = open_source(PAPERS)
        >>> isinstance(source, FileRecordStream), source.path.name
        (True, 'papers.jsonl')
    """

    path: Path
