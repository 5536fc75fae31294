"""NNSelect's similarities of papers it was not trained on, for training NNRank.

NNSelect has seen the citations that NNRank learns from: for those its cosine is far higher than it will ever be for
a new query, and NNRank would trust it too much. So the training queries are dealt into folds, and each fold's vectors
come from an NNSelect that was trained on the other folds' citations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.systems.citeomatic.nnselect_task import NNSelectRecipe, NNSelectTask, nnselect_optimizers
from cocite.text.fields import FieldEncoder
from cocite.training.loop import Advance, fit, silent
from cocite.training.periods import Periods


@dataclass(frozen=True)
class FoldVectors:
    """Vectors of all papers, one set a fold of queries.

    Attributes:
        fold: (N,) the fold of each paper as a query.
        vectors: (F, N, d).
    """

    fold: NDArray[np.int8]
    vectors: NDArray[np.float32]

    @classmethod
    def same(cls, vectors: NDArray[np.float32]) -> FoldVectors:
        """One set (N, d) for all queries."""
        return cls(np.zeros(len(vectors), np.int8), vectors[None])

    def queries(self, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(Q, d) vectors of queries, each of its own fold."""
        return self.vectors[self.fold[rows], rows]

    def cosine(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.float32]:
        """(P,) similarity of pairs in the space of the query's fold."""
        left, right = self.queries(query), self.vectors[self.fold[query], paper]
        return np.asarray(np.einsum("pd,pd->p", left, right), np.float32)


def cross_fit(
    recipe: NNSelectRecipe,
    periods: Periods,
    fields: FieldEncoder,
    folds: int,
    epochs: int,
    *,
    advance: Advance = silent,
    log: Callable[[int, dict[str, float]], None] = silent,
) -> FoldVectors:
    """Train an NNSelect for each fold, on the citations of the others, and encode all papers with it.

    Args:
        recipe: how NNSelect was trained.
        periods: its periods.
        fields: its vocabulary.
        folds: how many; 2 or more.
        epochs: passes of each; the number after which the whole NNSelect was best.
        advance: told of each batch.
        log: told each fold's number and last dev metrics.
    """
    history = periods.history
    rng = np.random.default_rng([recipe.loop.seed, folds])
    fold = rng.integers(0, folds, len(history.corpus)).astype(np.int8)
    settings = recipe.loop.model_copy(update={"epochs": epochs, "patience": epochs + 1, "minutes": None})
    few = periods.dev[:: max(1, len(periods.dev) // 200)]
    vectors = []
    for number in range(folds):
        known = Periods(History(history.corpus, history.citing & (fold != number)), few)
        task = NNSelectTask(recipe, known, fields)
        result = fit(task, nnselect_optimizers(task), settings, advance=advance)
        log(number, result.best)
        vectors.append(task.vectors())
    return FoldVectors(fold, np.stack(vectors))
