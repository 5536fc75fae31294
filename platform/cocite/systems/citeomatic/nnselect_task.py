"""Training NNSelect (Citeomatic, section 3), with the paper's triplets or with many negatives at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cocite.bounds import (
    BatchSize,
    Dimension,
    Factor,
    Location,
    Penalty,
    PositiveFactor,
    ProperShare,
    SmallCount,
    Total,
)
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.nn.pretrained_vectors import read_vectors
from cocite.nn.softmax_losses import sampled_softmax_loss
from cocite.protocols import NO_ROW
from cocite.sampling.neighbours import nearest
from cocite.systems.citeomatic.losses import CITED_BY_CITED, NEIGHBOUR, RANDOM, margin_triplet_loss
from cocite.systems.citeomatic.negatives import CiteomaticNegatives, NegativeSettings, Triplets
from cocite.systems.citeomatic.nnselect_network import NNSelect, TokenBags, embedding_penalty
from cocite.text.fields import TEXT, Bags, FieldEncoder, FieldSettings
from cocite.training.loop import LoopSettings, optimizers_for
from cocite.training.measure import ranking_metrics
from cocite.training.periods import Periods, PeriodSettings


class NNSelectModelSettings(Settings):
    """Size and start of the model."""

    dimension: Dimension = 300
    initial_magnitude: Literal["one", "idf"] = "idf"
    """Every word alike, or inverse document frequency."""
    pretrained: Location | None = None
    """A file of word vectors (word2vec or GloVe text format) to start the directions from."""
    finetune: bool = True
    """Whether the directions of pretrained vectors are trained further."""


class NNSelectObjectiveSettings(Settings):
    """What is minimised."""

    objective: Literal["paper", "in_batch"] = "in_batch"
    """``paper``: triplets with margins (Eq. 2). ``in_batch``: each citation against all others of its batch."""
    batch: BatchSize = 512
    """Triplets, or citations, of a step."""
    triplets: Total = 500_000
    """Triplets of an epoch (objective ``paper``)."""
    gamma: Factor = 1.0
    """Margin multiplier (objective ``paper``)."""
    scale: PositiveFactor = 20.0
    """Inverse temperature (objective ``in_batch``)."""
    correction: Factor = 0.0
    """How much of the log of a candidate's frequency is taken off its logit (objective ``in_batch``)."""
    extra: tuple[SmallCount, SmallCount, SmallCount] = (0, 1, 1)
    """Random, neighbour and citation-of-citation negatives added for each citation (objective ``in_batch``)."""
    word_dropout: ProperShare = 0.5
    l1: Penalty = 0.0
    l2: Penalty = 0.0


class NNSelectRecipe(Settings):
    """All of an NNSelect training."""

    kind: Literal["nnselect"] = "nnselect"
    period: PeriodSettings = PeriodSettings()
    fields: FieldSettings = FieldSettings()
    model: NNSelectModelSettings = NNSelectModelSettings()
    objective: NNSelectObjectiveSettings = NNSelectObjectiveSettings()
    negatives: NegativeSettings = NegativeSettings()
    loop: LoopSettings = LoopSettings()


def union(bags: Bags) -> CSR:
    """The words of title and abstract together."""
    parts = [bags[field].pairs() for field in TEXT]
    owners, entries = (np.concatenate(column) for column in zip(*parts, strict=True))
    return CSR.build(owners, entries, len(bags["title"]))


class CitationBatch(NamedTuple):
    """A batch of citations: queries against distinct candidates."""

    query: NDArray[np.int32]  # (B,)
    candidates: NDArray[np.int32]  # (C,) distinct
    target: NDArray[np.int64]  # (B,) column of each query's citation


class NNSelectTask:
    """NNSelect on the history's citations: see :class:`~cocite.training.loop.Task`."""

    metric = "R@20"

    def __init__(self, recipe: NNSelectRecipe, periods: Periods, encoder: FieldEncoder) -> None:
        torch.manual_seed(recipe.loop.seed)
        self.recipe, self.periods = recipe, periods
        corpus, history = periods.history.corpus, periods.history
        self.bags = encoder.papers(corpus)
        vocabulary = encoder.vocabularies["words"]
        self.model = NNSelect(len(vocabulary), recipe.model.dimension)
        if recipe.model.initial_magnitude == "idf":
            idf = vocabulary.inverse_document_frequency(int(history.citing.sum()))
            self.model.words.magnitude.data[:, 0] = torch.from_numpy(idf / idf.mean())
        if recipe.model.pretrained:
            found, start = read_vectors(recipe.model.pretrained, vocabulary, recipe.model.dimension)
            self.model.words.direction.data[torch.from_numpy(found)] = torch.from_numpy(start[found])
        self.negatives = CiteomaticNegatives(history, union(self.bags), len(vocabulary), recipe.negatives)
        self.in_citations = torch.from_numpy(history.in_citations.astype(np.float32))
        frequency = np.maximum(history.in_citations, 1) / max(len(history.cites.indices), 1)
        self._log_frequency = torch.from_numpy(np.log(frequency).astype(np.float32))
        self._years = np.asarray(corpus.years)

    def vectors(self) -> NDArray[np.float32]:
        """(N, d) unit vectors of all papers, by the present weights."""
        return self.model.encode(self.bags)

    # -- batches ---------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """About how many batches an epoch has."""
        settings = self.recipe.objective
        links = int(self.negatives.cites.degrees[self.negatives.queries].sum())
        return -(-(settings.triplets if settings.objective == "paper" else links) // settings.batch)

    def batches(self, epoch: int) -> Iterator[Triplets | CitationBatch]:
        """Triplets, or citations with candidates."""
        rng = np.random.default_rng([self.recipe.loop.seed, epoch])
        self.negatives.refresh(self.vectors())
        settings = self.recipe.objective
        if settings.objective == "paper":
            triplets = self.negatives.epoch(rng, settings.triplets)
            for start in range(0, len(triplets), settings.batch):
                yield triplets[start : start + settings.batch]
            return
        owner, positive = self.negatives.cites.gather(self.negatives.queries)
        query = self.negatives.queries[owner]
        order = rng.permutation(len(query))
        for start in range(0, len(order), settings.batch):
            some = order[start : start + settings.batch]
            yield self._citation_batch(rng, query[some], positive[some])

    def _citation_batch(
        self, rng: np.random.Generator, query: NDArray[np.int32], positive: NDArray[np.int32]
    ) -> CitationBatch:
        drawn = [
            self.negatives.draw(rng, kind, np.repeat(query, count))
            for kind, count in zip(
                (RANDOM, NEIGHBOUR, CITED_BY_CITED), self.recipe.objective.extra, strict=True
            )
            if count
        ]
        rows = np.concatenate([positive, *drawn])
        candidates = np.unique(rows[rows != NO_ROW])
        return CitationBatch(query, candidates, np.searchsorted(candidates, positive))

    # -- loss ------------------------------------------------------------------------------------------------

    def _embed(self, rows: NDArray[np.int32]) -> tuple[Tensor, Tensor]:
        bags = [TokenBags.of(self.bags[field], rows) for field in TEXT]
        embedded: tuple[Tensor, Tensor] = self.model(*bags, self.recipe.objective.word_dropout)
        return embedded

    def loss(self, batch: Triplets | CitationBatch) -> Tensor:
        """The objective, with the embeddings' regularisation."""
        settings = self.recipe.objective
        if isinstance(batch, Triplets):
            rows, place = np.unique(
                np.concatenate([batch.query, batch.positive, batch.negative]), return_inverse=True
            )
            vectors, words = self._embed(rows)
            query, positive, negative = vectors[torch.from_numpy(place)].view(3, len(batch), -1)
            loss = margin_triplet_loss(
                (query * positive).sum(1),
                (query * negative).sum(1),
                torch.from_numpy(batch.kind.astype(np.int64)),
                self.in_citations[batch.positive],
                self.in_citations[batch.negative],
                gamma=settings.gamma,
            )
        else:
            distinct, place = np.unique(batch.query, return_inverse=True)
            vectors, words = self._embed(np.concatenate([distinct, batch.candidates]))
            query = vectors[torch.from_numpy(place)]
            offset = (
                -settings.correction * self._log_frequency[batch.candidates] if settings.correction else None
            )
            loss = sampled_softmax_loss(
                query @ vectors[len(distinct) :].T,  # (B, C)
                torch.from_numpy(batch.target),
                torch.from_numpy(self._forbidden(batch)),
                scale=settings.scale,
                offset=offset,
            )
        if settings.l1 or settings.l2:
            loss = loss + embedding_penalty(words, l1=settings.l1, l2=settings.l2)
        return loss

    def _forbidden(self, batch: CitationBatch) -> NDArray[np.bool_]:
        """(B, C) candidates that are no negatives of each query: itself, its citations, later papers."""
        if self.recipe.negatives.no_later:
            years = self._years[batch.query][:, None]
            forbidden = (self._years[batch.candidates][None] > years) & (years > 0)
        else:
            forbidden = np.zeros((len(batch.query), len(batch.candidates)), bool)
        column = np.full(len(self._years), -1, np.int64)
        column[batch.candidates] = np.arange(len(batch.candidates))
        owner, cited = self.negatives.cites.gather(batch.query)
        at = column[cited]
        forbidden[owner[at >= 0], at[at >= 0]] = True
        own = column[batch.query]
        forbidden[np.flatnonzero(own >= 0), own[own >= 0]] = True
        forbidden[np.arange(len(batch.query)), batch.target] = False
        return forbidden

    # -- dev -------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """R@20 and company of the dev queries, by cosine to all papers; ``recall`` is R@100."""
        vectors = self.vectors()
        dev = self.periods.dev
        ranking = nearest(vectors[dev], vectors, 100, exclude=dev)
        return ranking_metrics(ranking, dev, self.periods.history.corpus.cites)


def nnselect_optimizers(task: NNSelectTask) -> list[torch.optim.Optimizer]:
    """Lazy Adam for the word vectors, Adam for the field weights."""
    words = task.model.words
    words.direction.requires_grad_(task.recipe.model.pretrained is None or task.recipe.model.finetune)
    tables = [words.magnitude, words.direction]
    return optimizers_for(task.model, task.recipe.loop.learning_rate, sparse=tables)
