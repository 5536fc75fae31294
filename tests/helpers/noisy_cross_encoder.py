"""A cross-encoder that knows the citations of a corpus, but for noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query, Ranking


class NoisyCrossEncoder:
    """A stand-in for a cross-encoder: scores 1 for a cited paper, 0 for another, plus noise; counts its pairs."""

    name = "cross-encoder"

    def __init__(
        self, corpus: Corpus, noise: float = 0.3, kinds: tuple[str, ...] = ("local", "global")
    ) -> None:
        self.corpus, self.noise, self.kinds = corpus, noise, kinds
        self.pairs = 0

    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        rows = candidates.rows
        self.pairs += int((rows != NO_ROW).sum())
        cited = np.stack([np.isin(rows[i], self.corpus.cites[q.paper]) for i, q in enumerate(queries)])
        noise = np.sin(rows * 12.9898 + np.array([query.paper for query in queries])[:, None])
        return (cited + self.noise * noise).astype(np.float32)
