"""Training NNRank with lists: each query's citations against candidates that it does not cite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.nn.softmax_losses import listwise_losses
from cocite.protocols import NO_ROW
from cocite.systems.citeomatic.nnrank.base_task import NNRankTask, PairBatch
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World


@dataclass(frozen=True)
class Lists:
    """Queries with the candidates that each is to order.

    Attributes:
        query: (Q,) rows.
        rows: (Q, k) candidates, padded with ``NO_ROW``.
        relevant: (Q, k) whether the query cites them.

    Example:
        >>> lists = Lists(np.array([4]), np.array([[7, 9, NO_ROW]]), np.array([[True, False, False]]))
        >>> lists.rows[lists.relevant].tolist()
        [7]
    """

    query: NDArray[np.int32]
    rows: NDArray[np.int32]
    relevant: NDArray[np.bool_]


@dataclass(frozen=True)
class ListBatch:
    """The pairs of some lists, and where each stands.

    Attributes:
        pairs: P pairs.
        query, column: (P,) int64, where a pair stands in the lists.
        relevant, present: (Q, k) bool.

    Example:
        See :class:`ListwiseNNRankTask`, whose ``collate`` makes one:

        >>> ListBatch.__dataclass_fields__.keys() >= {"pairs", "relevant", "present"}
        True
    """

    pairs: PairBatch
    query: Tensor
    column: Tensor
    relevant: Tensor
    present: Tensor


class ListwiseNNRankTask(NNRankTask):
    """An example is a query with a list of candidates; the loss is the softmax over the list.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
        >>> from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder
        >>> from cocite.systems.citeomatic.nnselect.network import NNSelect
        >>> from cocite.text.fields import FieldEncoder
        >>> from cocite.training.periods import Periods
        >>> recipe = NNRankRecipe.parse({"objective": {"listed": 10, "positives": 5}})
        >>> periods = Periods.of(starter_corpus(), recipe.period)
        >>> fields = FieldEncoder.build(periods.history, recipe.fields)
        >>> encoder = NNSelectEncoder(NNSelect(len(fields.vocabularies["words"]), 8), fields, "untrained")
        >>> task = ListwiseNNRankTask(recipe, periods, fields, encoder)
        >>> _ = task.prepare(World(), stage=lambda _: None)
        >>> task.collate(np.arange(4), epoch=0).relevant.shape
        torch.Size([4, 15])
    """

    _candidates: NDArray[np.int32]
    _lists: tuple[int, Lists] | None = None

    def prepare(self, world: World, stage: Callable[[str], None]) -> Mapping[str, Tensor]:
        """Find the training queries' candidates, too: NNSelect stays as it is, and so do they."""
        prepared = super().prepare(world, stage)
        self._candidates = self.candidates.training(
            self.negatives.queries, self.folds, world, temporal=self.temporal
        )
        return {**prepared, "candidates": torch.from_numpy(self._candidates)}

    def load_prepared(self, prepared: Mapping[str, Tensor]) -> None:
        """Take back the training queries' candidates, too."""
        super().load_prepared(prepared)
        self._candidates = prepared["candidates"].numpy()

    def lists(self, epoch: int) -> Lists:
        """All examples of an epoch, in the order of its steps."""
        if self._lists is None or self._lists[0] != epoch:
            self._lists = (epoch, self._draw(epoch))
        return self._lists[1]

    def _draw(self, epoch: int) -> Lists:
        queries, rng = self.negatives.queries, self.rng(epoch)
        order = rng.permutation(len(queries))
        rows: list[NDArray[np.int32]] = []
        relevant: list[NDArray[np.bool_]] = []
        for start in range(0, len(order), self.recipe.training.batch):
            step = order[start : start + self.recipe.training.batch]
            drawn = self._draw_lists(rng, queries[step], self._candidates[step])
            rows.append(drawn[0])
            relevant.append(drawn[1])
        return Lists(queries[order], np.concatenate(rows), np.concatenate(relevant))

    def _draw_lists(
        self, rng: np.random.Generator, query: NDArray[np.int32], pool: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Rows and relevance of each list: some of the query's citations, and candidates that it does not cite."""
        positives = np.full((len(query), self.recipe.objective.positives), NO_ROW, np.int32)
        owner, cited = self.negatives.cites.gather(query)
        order = np.lexsort((rng.random(len(owner)), owner))  # shuffled within each query
        owner, cited = owner[order], cited[order]
        column = np.arange(len(owner)) - np.searchsorted(owner, owner)
        fits = column < positives.shape[1]
        positives[owner[fits], column[fits]] = cited[fits]
        free = self.negatives.allowed(np.repeat(query, pool.shape[1]), pool.ravel()).reshape(pool.shape)
        # The least random keys are chosen, and 2 stands behind all of them.
        keys = np.where(free, rng.random(pool.shape), 2.0)
        listed = min(self.recipe.objective.listed, pool.shape[1])
        chosen = np.argpartition(keys, listed - 1, axis=1)[:, :listed]
        negatives = np.where(np.take_along_axis(free, chosen, 1), np.take_along_axis(pool, chosen, 1), NO_ROW)
        rows = np.concatenate([positives, negatives], axis=1).astype(np.int32)
        relevant = np.zeros(rows.shape, bool)
        relevant[:, : positives.shape[1]] = positives != NO_ROW
        return rows, relevant

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) words of each query and of its candidates."""
        lists = self.lists(epoch)
        candidates = np.where(lists.rows == NO_ROW, 0, self.sizes[lists.rows]).sum(1)
        return np.asarray(self.sizes[lists.query] + candidates, np.int64)

    def collate(self, examples: Examples, epoch: int) -> ListBatch:
        """The pairs of some queries' lists."""
        lists = self.lists(epoch)
        rows = lists.rows[examples]
        present = rows != NO_ROW
        query, column = np.nonzero(present)
        return ListBatch(
            self.pairs(lists.query[examples][query], rows[query, column]),
            torch.from_numpy(query),
            torch.from_numpy(column),
            torch.from_numpy(lists.relevant[examples]),
            torch.from_numpy(present),
        )

    def loss(self, model: nn.Module, batch: ListBatch) -> Tensor:
        """(b,) loss of each list, and the regularisation of the word vectors used."""
        logits, penalty = self.logits(model, batch.pairs)
        lists = logits.new_zeros(batch.present.shape)
        lists[batch.query, batch.column] = logits
        return listwise_losses(lists, batch.relevant, batch.present) + penalty

    def flops(self, batch: ListBatch) -> float:
        """See :meth:`NNRankTask.pair_flops`."""
        return self.pair_flops(batch.pairs)
