"""Citation contexts as queries, which local models are trained and evaluated on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus


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
        >>> bundles = gaps.bundles(2, seed=0, epoch=0)  # up to two contexts of one paper
        >>> bundles.degrees.tolist()
        [2, 1, 2]
    """

    positions: NDArray[np.int64]
    citing: NDArray[np.int32]
    cited: CSR

    @classmethod
    def of(cls, corpus: Corpus, positions: NDArray[np.int64]) -> Gaps:
        """The gaps of some contexts: those that cite another paper of the corpus."""
        owner, rows = corpus.context_cited.gather(positions)
        other = rows != corpus.context_citing[positions][owner]
        cited = CSR.build(owner[other], rows[other], len(positions))
        kept = np.flatnonzero(cited.degrees > 0)
        owner, rows = cited.gather(kept)
        return cls(
            positions[kept],
            np.asarray(corpus.context_citing[positions[kept]]),
            CSR.build(owner, rows, len(kept)),
        )

    @classmethod
    def known(cls, history: History) -> Gaps:
        """All gaps of a history."""
        return cls.of(history.corpus, history.contexts)

    @classmethod
    def sample(cls, corpus: Corpus, papers: NDArray[np.int32], most: int) -> Gaps:
        """The gaps of some papers, at most ``most`` of them, drawn evenly."""
        chosen = np.zeros(len(corpus), bool)
        chosen[papers] = True
        degrees = corpus.context_cited.degrees
        positions = np.flatnonzero(chosen[corpus.context_citing] & (degrees > 0))
        if len(positions) > most:
            positions = positions[np.linspace(0, len(positions) - 1, most).astype(np.int64)]
        return cls.of(corpus, positions)

    def __len__(self) -> int:
        return len(self.positions)

    def bundles(self, size: int, *, seed: int, epoch: int) -> CSR:
        """Examples: up to ``size`` contexts of one citing paper each, so that its title and abstract are read once.

        Which of a paper's contexts come together is drawn for each epoch; how many examples there are is not.
        """
        drawn = np.random.default_rng([seed, epoch]).permutation(len(self))
        order = drawn[np.argsort(self.citing[drawn], kind="stable")]
        papers = self.citing[order]
        begins = np.diff(papers, prepend=-1) != 0
        within = np.arange(len(order)) - np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
        number = np.cumsum(within % size == 0) - 1
        return CSR.build(number, order, int(number[-1]) + 1 if len(number) else 0)
