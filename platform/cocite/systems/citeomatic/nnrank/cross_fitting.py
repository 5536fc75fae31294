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
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import nnselect_task
from cocite.text.fields import FieldEncoder
from cocite.training.engine.loop import ignore_progress, train
from cocite.training.engine.world import World
from cocite.training.periods import Periods


@dataclass(frozen=True)
class FoldVectors:
    """Vectors of all papers, one set for each fold of queries.

    Attributes:
        fold: (N,) the fold of each paper as a query.
        vectors: (F, N, d).

    Example:
        >>> near, far = np.eye(2, dtype=np.float32), np.array([[1, 0], [1, 0]], np.float32)
        >>> folds = FoldVectors(np.array([0, 1], np.int8), np.stack([near, far]))
        >>> folds.cosine(np.array([0, 1]), np.array([1, 0])).tolist()  # each in the space of its query's fold
        [0.0, 1.0]
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
    world: World | None = None,
    stage: Callable[[str], None] = ignore_progress,
) -> FoldVectors:
    """Train an NNSelect for each fold, on the citations of the others, and encode all papers with it.

    Args:
        recipe: how NNSelect was trained.
        periods: its periods.
        fields: its vocabulary.
        folds: how many; 2 or more.
        epochs: passes of each; the number after which the whole NNSelect was best.
        world: the processes that train each of them together.
        stage: receives a description of each fold as its training begins.
    """
    world = world or World()
    history = periods.history
    rng = np.random.default_rng([recipe.training.seed, folds])
    fold = rng.integers(0, folds, len(history.corpus)).astype(np.int8)
    training = recipe.training.model_copy(
        update={
            "epochs": epochs,
            "steps": None,
            "patience": 0,
            "minutes": None,
            "backend": "plain" if world.size == 1 else "ddp",
        }
    )
    few = periods.dev[:: max(1, len(periods.dev) // 200)]
    vectors = []
    for number in range(folds):
        others = Periods(History(history.corpus, history.citing & (fold != number)), few)
        task = nnselect_task(recipe, others, fields)
        stage(f"NNSelect for fold {number + 1} of {folds}")
        train(task, training, world=world)
        vectors.append(task.vectors(world))
    return FoldVectors(fold, np.stack(vectors))
