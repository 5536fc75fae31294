"""Training NNSelect with many negatives at once: each citation against all papers of its step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.nn.softmax_losses import sampled_softmax_losses
from cocite.protocols import NO_ROW
from cocite.systems.citeomatic.losses import CITED_BY_CITED, NEIGHBOUR, RANDOM
from cocite.systems.citeomatic.nnselect.base_task import NNSelectTask
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.word_bags import TokenBags
from cocite.text.fields import FieldEncoder
from cocite.training.engine.task import Examples, PenalizedVectors
from cocite.training.engine.world import World
from cocite.training.periods import Periods


@dataclass(frozen=True)
class Citations:
    """The examples of an epoch: citations, each with papers that its query does not cite.

    Attributes:
        query, positive: (n,) rows of the citing and of the cited paper.
        negatives: (n, m) rows, ``NO_ROW`` where none was found.

    Example:
        >>> drawn = Citations(np.array([8, 9]), np.array([1, 2]), np.array([[3, NO_ROW], [1, 4]]))
        >>> [rows.tolist() for rows in drawn.papers(np.array([0, 1]))]
        [[8, 9], [1, 2, 3, 4]]
    """

    query: NDArray[np.int32]
    positive: NDArray[np.int32]
    negatives: NDArray[np.int32]

    def papers(self, examples: Examples) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The distinct queries, and the distinct candidates, of some examples."""
        candidates = np.unique(np.append(self.positive[examples], self.negatives[examples]))
        return np.unique(self.query[examples]), candidates[candidates != NO_ROW]


@dataclass(frozen=True)
class CitationBatch:
    """The bags of a piece's queries, followed by those of its candidates.

    Attributes:
        title, abstract: bags.
        pairs: how many queries and candidates are set against one another.
        examples: numbers of the citations.
        epoch: the epoch that they belong to.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> task = build(NNSelectRecipe.parse({"model": {"dimension": 8}}), starter_corpus())
        >>> batch = task.collate(np.arange(4), epoch=0)
        >>> len(batch.title.offsets) == len(batch.abstract.offsets), batch.pairs > 4
        (True, True)
    """

    title: TokenBags
    abstract: TokenBags
    pairs: int
    examples: Examples
    epoch: int


class InBatchNNSelectTask(NNSelectTask):
    """Each citation against all papers of its step; see :class:`~cocite.training.engine.task.ContrastiveTask`.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.training.engine.loop import train
        >>> recipe = NNSelectRecipe.parse({"model": {"dimension": 16}, "training": {"epochs": 2, "batch": 64}})
        >>> task = build(recipe, starter_corpus(), None)
        >>> result = train(task, recipe.training, world=World())
        >>> result.steps == 2 * task.steps, result.best["R@20"] > result.start["R@20"]
        (True, True)
    """

    def __init__(self, recipe: NNSelectRecipe, periods: Periods, fields: FieldEncoder) -> None:
        super().__init__(recipe, periods, fields)
        history = periods.history
        # Negatives may never have been cited, and their logarithm must be finite.
        frequency = np.maximum(history.in_citations, 1) / max(len(history.cites.indices), 1)
        self._log_frequency = torch.from_numpy(np.log(frequency).astype(np.float32))
        self._years = np.asarray(history.corpus.years)
        self._drawn: tuple[int, Citations] | None = None

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Find each query's neighbours with the present weights; what was drawn from the earlier ones is drawn anew."""
        super().refresh(model, world, step)
        self._drawn = None

    def citations(self, epoch: int) -> Citations:
        """All examples of an epoch."""
        if self._drawn is None or self._drawn[0] != epoch:
            self._drawn = (epoch, self._draw(epoch))
        return self._drawn[1]

    def _draw(self, epoch: int) -> Citations:
        rng = self.rng(epoch)
        owner, positive = self.negatives.cites.gather(self.negatives.queries)
        order = rng.permutation(len(owner))
        query, positive = self.negatives.queries[owner][order], positive[order]
        extra = self.recipe.objective.extra
        negatives = np.full((len(query), sum(extra)), NO_ROW, np.int32)
        for start in range(0, len(query), self.recipe.training.batch):
            step, column = slice(start, start + self.recipe.training.batch), 0
            for kind, count in zip((RANDOM, NEIGHBOUR, CITED_BY_CITED), extra, strict=True):
                if count:
                    drawn = self.negatives.draw(rng, kind, np.repeat(query[step], count))
                    negatives[step, column : column + count] = drawn.reshape(-1, count)
                    column += count
        return Citations(query, positive, negatives)

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) words of each citation's papers, negatives included."""
        drawn = self.citations(epoch)
        negatives = np.where(drawn.negatives == NO_ROW, 0, self.sizes[drawn.negatives]).sum(1)
        return np.asarray(self.sizes[drawn.query] + self.sizes[drawn.positive] + negatives, np.int64)

    def collate(self, examples: Examples, epoch: int) -> CitationBatch:
        """The bags of some citations' papers."""
        queries, candidates = self.citations(epoch).papers(examples)
        title, abstract = self.bags_of(np.concatenate([queries, candidates]))
        return CitationBatch(title, abstract, len(queries) * len(candidates), examples, epoch)

    def embed(self, model: nn.Module, batch: CitationBatch) -> PenalizedVectors:
        """(q + c, d) vectors of a piece's queries and candidates."""
        return PenalizedVectors(*self.embed_papers(model, batch.title, batch.abstract))

    def contrast(self, vectors: Tensor, pieces: Sequence[Examples], epoch: int) -> Tensor:
        """(b,) loss of each citation of a step: softmax over all candidates of the step."""
        drawn, settings, device = self.citations(epoch), self.recipe.objective, vectors.device
        query_rows, paper_rows, candidates, start = [], [], [], 0
        for piece in pieces:
            own, others = drawn.papers(piece)
            query_rows.append(start + np.searchsorted(own, drawn.query[piece]))
            paper_rows.append(start + len(own) + np.arange(len(others)))
            candidates.append(others)
            start += len(own) + len(others)
        # A paper of several pieces was embedded in each of them: the first vector stands for it.
        distinct, first = np.unique(np.concatenate(candidates), return_index=True)
        examples = np.concatenate(pieces)
        query, positive = drawn.query[examples], drawn.positive[examples]
        target = np.searchsorted(distinct, positive)
        offset = (
            -settings.correction * self._log_frequency[distinct].to(device) if settings.correction else None
        )
        left = vectors[torch.from_numpy(np.concatenate(query_rows)).to(device)]
        right = vectors[torch.from_numpy(np.concatenate(paper_rows)[first]).to(device)]
        return sampled_softmax_losses(
            left @ right.T,  # (B, C)
            torch.from_numpy(target).to(device),
            torch.from_numpy(self.forbidden(query, distinct, target)).to(device),
            scale=settings.scale,
            offset=offset,
        )

    def loss(self, model: nn.Module, batch: CitationBatch) -> Tensor:
        """(b,) losses of a batch that is a step by itself."""
        embedded = self.embed(model, batch)
        return self.contrast(embedded.vectors, [batch.examples], batch.epoch) + embedded.penalty

    def forbidden(
        self, query: NDArray[np.int32], candidates: NDArray[np.int32], target: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """(B, C) candidates that are no negatives of each query: itself, its citations, later papers.

        Args:
            query: (B,) rows.
            candidates: (C,) rows, distinct.
            target: (B,) column of each query's citation, which is never forbidden.
        """
        if self.recipe.negatives.no_later:
            years = self._years[query][:, None]
            result = (self._years[candidates][None] > years) & (years > 0)
        else:
            result = np.zeros((len(query), len(candidates)), bool)
        # By the queries' citations, which are few, instead of looking up each of B x C pairs.
        column = np.full(len(self._years), -1, np.int64)
        column[candidates] = np.arange(len(candidates))
        owner, cited = self.negatives.cites.gather(query)
        cited_column = column[cited]
        present = cited_column >= 0
        result[owner[present], cited_column[present]] = True
        own = column[query]
        result[np.flatnonzero(own >= 0), own[own >= 0]] = True
        # Last: the target is one of the query's citations, which the lines above forbid.
        result[np.arange(len(query)), target] = False
        return np.asarray(result)

    def flops(self, batch: CitationBatch) -> float:
        """Vectors of texts, and similarities: a forward pass, and twice as much backward."""
        words = len(batch.title.types) + len(batch.abstract.types)
        return 6.0 * (self.model.multiplications * words + self.model.dimension * batch.pairs)
