"""Citation contexts as queries, which local models are trained and evaluated on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus

BLOCK = 1 << 17
"""Contexts read at a time: a multiple of the store's record batches."""


@dataclass(frozen=True)
class Gaps:
    """Citation contexts as queries.

    Attributes:
        positions: (E,) where they are in the corpus, ascending.
        citing: (E,) the papers that they are of.
        cited: for each, the papers it cites.

    Example:
        >>> citing, cited = np.array([3, 3, 3, 7, 7], np.int32), CSR.build(range(5), [1, 2, 1, 1, 2], 5)
        >>> gaps = Gaps(np.arange(5), citing, cited)
        >>> len(Gaps.joined([gaps, gaps]))
        10
    """

    positions: NDArray[np.int64]
    citing: NDArray[np.int32]
    cited: CSR

    @classmethod
    def of(cls, corpus: Corpus, positions: NDArray[np.int64]) -> Gaps:
        """The gaps of some contexts, at ascending positions: those that cite another paper of the corpus."""
        return cls.joined(
            [
                cls._of_block(corpus, start, end, positions[low:high])
                for start, end in _blocks(corpus)
                for low, high in [np.searchsorted(positions, [start, end])]
                if high > low
            ]
        )

    @classmethod
    def blocks(cls, corpus: Corpus, papers: NDArray[np.bool_]) -> Iterator[tuple[int, Gaps]]:
        """All gaps of the marked papers, a block of the corpus' contexts at a time.

        Args:
            corpus: the papers.
            papers: (N,) whether a paper's gaps are wanted.

        Yields:
            The number of contexts of the block, and those of its gaps that are wanted.
        """
        for start, end in _blocks(corpus):
            positions = start + np.flatnonzero(papers[_citing(corpus, start, end)])
            yield end - start, cls._of_block(corpus, start, end, positions)

    @classmethod
    def known(cls, history: History) -> Gaps:
        """All gaps of a history."""
        return cls.joined([gaps for _, gaps in cls.blocks(history.corpus, history.citing)])

    @classmethod
    def sample(cls, corpus: Corpus, papers: NDArray[np.int32], most: int) -> Gaps:
        """The gaps of some papers, at most ``most`` of them, drawn evenly."""
        chosen = np.zeros(len(corpus), bool)
        chosen[papers] = True
        parts = [np.empty(0, np.int64)]
        for start, end in _blocks(corpus):
            degrees = corpus.contexts.lists("cited", start, end).degrees
            parts.append(start + np.flatnonzero(chosen[_citing(corpus, start, end)] & (degrees > 0)))
        positions = np.concatenate(parts)
        if len(positions) > most:
            positions = positions[np.linspace(0, len(positions) - 1, most).astype(np.int64)]
        return cls.of(corpus, positions)

    @classmethod
    def _of_block(cls, corpus: Corpus, start: int, end: int, positions: NDArray[np.int64]) -> Gaps:
        """The gaps among the contexts at some positions, which all lie in ``start ... end - 1``."""
        citing = _citing(corpus, start, end)[positions - start]
        owner, rows = corpus.contexts.lists("cited", start, end).gather(positions - start)
        other = rows != citing[owner]
        cited = CSR.build(owner[other], rows[other], len(positions))
        kept = np.flatnonzero(cited.degrees > 0)
        owner, rows = cited.gather(kept)
        return cls(positions[kept], citing[kept], CSR.build(owner, rows, len(kept)))

    @classmethod
    def joined(cls, parts: Sequence[Gaps]) -> Gaps:
        """The gaps of all parts, part after part."""
        degrees = np.concatenate([np.zeros(1, np.int64), *(part.cited.degrees for part in parts)])
        indices = np.concatenate([np.zeros(0, np.int32), *(part.cited.indices for part in parts)])
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(part.positions for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(part.citing for part in parts)]),
            CSR(np.cumsum(degrees), indices),
        )

    def __len__(self) -> int:
        return len(self.positions)


def _blocks(corpus: Corpus) -> Iterator[tuple[int, int]]:
    """Ranges of the corpus' contexts."""
    for start in range(0, len(corpus.contexts), BLOCK):
        yield start, min(start + BLOCK, len(corpus.contexts))


def _citing(corpus: Corpus, start: int, end: int) -> NDArray[np.int32]:
    """(end - start,) the citing papers of a range of contexts."""
    column = corpus.contexts.table.column("citing").slice(start, end - start)
    return np.asarray(column.to_numpy(), np.int32)
