"""Streams of records that a store is built from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from cocite.corpus.records import Record
from cocite.corpus.rules import Place


@runtime_checkable
class Placed(Protocol):
    """A stream of records that knows where it is."""

    place: Place

    def __iter__(self) -> Iterator[Record]: ...


@runtime_checkable
class FromFile(Placed, Protocol):
    """A stream of records that is read from a file or folder."""

    path: Path
