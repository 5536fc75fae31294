"""Training NNRank with the paper's triplets (Citeomatic, Eq. 2 on the sigmoid of Eq. 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.corpus.csr import CSR
from cocite.systems.citeomatic.losses import margin_triplet_losses
from cocite.systems.citeomatic.negatives import Triplets
from cocite.systems.citeomatic.nnrank.base_task import NNRankTask, PairBatch
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World


@dataclass(frozen=True)
class NNRankTripletBatch:
    """The pairs of b triplets: first each query with its citation, then each with its negative.

    Attributes:
        pairs: 2b pairs.
        kind: (b,) kind of each negative.
        in_citations: (2, b) of positive and negative.

    Example:
        See :class:`TripletNNRankTask`, whose ``collate`` makes one:

        >>> NNRankTripletBatch.__dataclass_fields__.keys() == {"pairs", "kind", "in_citations"}
        True
    """

    pairs: PairBatch
    kind: Tensor
    in_citations: Tensor


class TripletNNRankTask(NNRankTask):
    """An example is a triplet: the cited paper is to be more probable than the other by the margin of its kind.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
        >>> from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder
        >>> from cocite.systems.citeomatic.nnselect.network import NNSelect
        >>> from cocite.text.fields import FieldEncoder
        >>> from cocite.training.periods import Periods
        >>> recipe = NNRankRecipe.parse({"objective": {"objective": "paper", "triplets": 600, "l2": 1e-3}})
        >>> periods = Periods.of(starter_corpus(), recipe.period)
        >>> fields = FieldEncoder.build(periods.history, recipe.fields)
        >>> encoder = NNSelectEncoder(NNSelect(len(fields.vocabularies["words"]), 8), fields, "untrained")
        >>> task = TripletNNRankTask(recipe, periods, fields, encoder)
        >>> task.loss(task.model, task.collate(np.arange(4), epoch=0)).shape
        torch.Size([4])
    """

    _triplets: tuple[int, Triplets] | None = None

    def prepare(self, world: World, stage: Callable[[str], None]) -> Mapping[str, Tensor]:
        """Find each query's neighbours, too, once: NNSelect stays as it is, and so do they."""
        prepared = super().prepare(world, stage)
        self.negatives.refresh(self.vectors, world)
        table = self.negatives.neighbours
        tensors = {"indptr": torch.from_numpy(table.indptr), "indices": torch.from_numpy(table.indices)}
        return {**prepared, **tensors}

    def load_prepared(self, prepared: Mapping[str, Tensor]) -> None:
        """Take back the neighbours, too."""
        super().load_prepared(prepared)
        self.negatives.neighbours = CSR(prepared["indptr"].numpy(), prepared["indices"].numpy())

    def triplets(self, epoch: int) -> Triplets:
        """All examples of an epoch, in the order of its steps."""
        if self._triplets is None or self._triplets[0] != epoch:
            drawn = self.negatives.triplets(self.rng(epoch), self.recipe.objective.triplets)
            self._triplets = (epoch, drawn)
        return self._triplets[1]

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) words of each triplet's papers."""
        drawn = self.triplets(epoch)
        return self.sizes[drawn.query] + self.sizes[drawn.positive] + self.sizes[drawn.negative]

    def collate(self, examples: Examples, epoch: int) -> NNRankTripletBatch:
        """The pairs of some triplets."""
        drawn = self.triplets(epoch)[examples]
        counts = self.periods.history.in_citations[np.stack([drawn.positive, drawn.negative])]
        return NNRankTripletBatch(
            self.pairs(np.tile(drawn.query, 2), np.concatenate([drawn.positive, drawn.negative])),
            torch.from_numpy(drawn.kind.astype(np.int64)),
            torch.from_numpy(counts.astype(np.float32)),
        )

    def loss(self, model: nn.Module, batch: NNRankTripletBatch) -> Tensor:
        """(b,) loss of each triplet, and the regularisation of the word vectors used."""
        logits, penalty = self.logits(model, batch.pairs)
        positive, negative = torch.sigmoid(logits).view(2, -1)
        losses = margin_triplet_losses(
            positive, negative, batch.kind, *batch.in_citations, gamma=self.recipe.objective.gamma
        )
        return losses + penalty

    def flops(self, batch: NNRankTripletBatch) -> float:
        """See :meth:`NNRankTask.pair_flops`."""
        return self.pair_flops(batch.pairs)
