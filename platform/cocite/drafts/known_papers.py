"""The papers of an opened corpus by DOI and by title, without a look at all of them for each draft.

The first look-up hashes every DOI or title of the corpus once; eight bytes a paper stay in memory for each of the two.
What a hash finds is compared with what the paper has, so that two values of one hash are told apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.corpus.title_forms import normal_titles

Column = Literal["doi", "title"]
_NORMAL: dict[Column, Callable[[Any], Any]] = {"doi": pc.utf8_lower, "title": normal_titles}
"""The form in which values are compared."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_LONGEST = 1 << 12
"""Bytes of a value that its hash is of."""
_ROWS = 1 << 16
"""Papers whose values are brought into their form at a time."""


@dataclass(frozen=True)
class _Table:
    """(n,) hashes of values that are not empty, ascending, and their papers' rows, ascending among equal hashes."""

    hashes: NDArray[np.uint32]
    rows: NDArray[np.int32]


class KnownPapers:
    """The papers of a corpus, which is kept by the caller; the same object for the same corpus.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> KnownPapers.of(corpus).rows("title", ["Relevance-based Language Models", "Another title"])
        {'relevance based language models': [53]}
    """

    def __init__(self, table: pa.Table) -> None:
        self._columns = {name: table.column(name) for name in _NORMAL}
        self._tables: dict[Column, _Table] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, corpus: Corpus) -> KnownPapers:
        """Those of a corpus, whose hashes are made once while it is open."""
        with _MAKING:
            if corpus not in _MADE:
                _MADE[corpus] = cls(corpus.papers.table)
            return _MADE[corpus]

    def rows(self, column: Column, values: Sequence[str]) -> dict[str, list[int]]:
        """The papers that have some values: normal form of each value that is found -> rows, ascending."""
        wanted = pc.unique(_NORMAL[column](pa.array(values, pa.string())))
        wanted = wanted.filter(pc.not_equal(wanted, ""))
        if not len(wanted):
            return {}
        table = self._table(column)
        hashes = text_hashes(wanted)
        starts = np.searchsorted(table.hashes, hashes, "left")
        counts = np.searchsorted(table.hashes, hashes, "right") - starts
        at = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        rows = np.unique(table.rows[at])
        has = _NORMAL[column](self._columns[column].take(pa.array(rows)))
        found: dict[str, list[int]] = {}
        known = set(wanted.to_pylist())
        for row, value in zip(rows.tolist(), has.to_pylist(), strict=True):
            if value in known:
                found.setdefault(value, []).append(row)
        return found

    def _table(self, column: Column) -> _Table:
        with self._lock:
            if column not in self._tables:
                self._tables[column] = self._make(column)
            return self._tables[column]

    def _make(self, column: Column) -> _Table:
        values = self._columns[column]
        hashes, rows = [np.zeros(0, np.uint32)], [np.zeros(0, np.int32)]
        first = 0
        for chunk in values.chunks:
            for start in range(0, len(chunk), _ROWS):
                own = _NORMAL[column](chunk.slice(start, _ROWS))
                filled = pc.fill_null(pc.not_equal(own, ""), False).to_numpy(zero_copy_only=False)
                rows.append((first + start + np.flatnonzero(filled)).astype(np.int32))
                hashes.append(text_hashes(own)[filled])
            first += len(chunk)
        every = np.concatenate(hashes)
        order = np.argsort(every, kind="stable")
        return _Table(every[order], np.concatenate(rows)[order])


def text_hashes(texts: pa.Array) -> NDArray[np.uint32]:
    """(n,) a hash of each text: its bytes as the coefficients of a polynomial, of which the upper half is taken.

    Example:
        >>> [one, other, same] = text_hashes(pa.array(["trees", "graphs", "trees"]))
        >>> one == same, one == other
        (np.True_, np.False_)
    """
    texts = pc.binary_slice(pc.cast(texts, pa.large_string()).cast(pa.large_binary()), 0, _LONGEST)
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.zeros(0, np.uint32)
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(data or b"", np.uint8)[bounds[0] : bounds[-1]].astype(np.uint64)
    lengths = np.diff(bounds)
    powers = np.cumprod(np.full(max(int(lengths.max()), 1), _FACTOR))
    places = np.arange(len(letters)) - np.repeat(bounds[:-1] - bounds[0], lengths)
    # A zero behind the last text: the sum of an empty text at the end begins there.
    terms = np.append(letters * powers[places], np.uint64(0))
    sums = np.add.reduceat(terms, bounds[:-1] - bounds[0])
    sums[lengths == 0] = 0
    return (sums >> np.uint64(32)).astype(np.uint32)


_MADE: WeakKeyDictionary[Corpus, KnownPapers] = WeakKeyDictionary()
"""Of corpora that are open."""
_MAKING = threading.Lock()
