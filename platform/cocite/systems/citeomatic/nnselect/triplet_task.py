"""Training NNSelect with the paper's triplets (Citeomatic, Eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.systems.citeomatic.losses import margin_triplet_losses
from cocite.systems.citeomatic.negatives import Triplets
from cocite.systems.citeomatic.nnselect.base_task import NNSelectTask
from cocite.systems.citeomatic.word_bags import TokenBags
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World


@dataclass(frozen=True)
class TripletBatch:
    """A piece of a step with the paper's objective.

    Attributes:
        title, abstract: bags of the distinct papers.
        position: (3, b) position of each triplet's query, positive and negative among them.
        kind: (b,) kind of each negative.
        in_citations: (2, b) of positive and negative.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> objective = {"objective": "paper", "triplets": 60}
        >>> recipe = NNSelectRecipe.parse({"model": {"dimension": 8}, "objective": objective})
        >>> build(recipe, starter_corpus()).collate(np.arange(4), epoch=0).position.shape
        torch.Size([3, 4])
    """

    title: TokenBags
    abstract: TokenBags
    position: Tensor
    kind: Tensor
    in_citations: Tensor


class TripletNNSelectTask(NNSelectTask):
    """Triplets with margins (Eq. 2); see :class:`~cocite.training.engine.task.TrainTask`.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.training.engine.loop import train
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> recipe = NNSelectRecipe.parse({
        ...     "model": {"dimension": 16}, "objective": {"objective": "paper", "triplets": 600},
        ...     "training": {"epochs": 1, "batch": 64}})
        >>> task = build(recipe, starter_corpus(), None)
        >>> result = train(task, recipe.training, world=World())
        >>> result.steps, result.best["R@20"] >= result.start["R@20"]
        (10, True)
    """

    _drawn: tuple[int, Triplets] | None = None

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Find each query's neighbours with the present weights; what was drawn from the earlier ones is drawn anew."""
        super().refresh(model, world, step)
        self._drawn = None

    def triplets(self, epoch: int) -> Triplets:
        """All examples of an epoch."""
        if self._drawn is None or self._drawn[0] != epoch:
            drawn = self.negatives.triplets(self.rng(epoch), self.recipe.objective.triplets)
            self._drawn = (epoch, drawn)
        return self._drawn[1]

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) words of each triplet's papers."""
        drawn = self.triplets(epoch)
        return self.sizes[drawn.query] + self.sizes[drawn.positive] + self.sizes[drawn.negative]

    def collate(self, examples: Examples, epoch: int) -> TripletBatch:
        """The bags of some triplets' papers."""
        drawn = self.triplets(epoch)
        # Neighbours mined within an epoch may leave a few triplets fewer than it began with.
        drawn = drawn[examples % len(drawn)]
        rows, position = np.unique(
            np.concatenate([drawn.query, drawn.positive, drawn.negative]), return_inverse=True
        )
        counts = self.periods.history.in_citations[np.stack([drawn.positive, drawn.negative])]
        return TripletBatch(
            *self.bags_of(rows),
            torch.from_numpy(position.reshape(3, -1)),
            torch.from_numpy(drawn.kind.astype(np.int64)),
            torch.from_numpy(counts.astype(np.float32)),
        )

    def loss(self, model: nn.Module, batch: TripletBatch) -> Tensor:
        """(b,) loss of each triplet, and the regularisation of the word vectors used."""
        vectors, penalty = self.embed_papers(model, batch.title, batch.abstract)
        query, positive, negative = vectors[batch.position]
        losses = margin_triplet_losses(
            (query * positive).sum(1),
            (query * negative).sum(1),
            batch.kind,
            *batch.in_citations,
            gamma=self.recipe.objective.gamma,
        )
        return losses + penalty

    def flops(self, batch: TripletBatch) -> float:
        """Vectors of texts, and similarities: a forward pass, and twice as much backward."""
        words = len(batch.title.types) + len(batch.abstract.types)
        pairs = 2 * len(batch.kind)
        return 6.0 * (self.model.multiplications * words + self.model.dimension * pairs)
