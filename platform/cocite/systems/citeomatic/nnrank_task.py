"""Training NNRank (Citeomatic, section 4), with the paper's triplets or with lists of candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, field_validator
from torch import Tensor

from cocite.bounds import (
    BatchSize,
    Factor,
    LearningRate,
    Penalty,
    PositiveSmallCount,
    ProperShare,
    Total,
)
from cocite.config import Settings
from cocite.corpus.history import History
from cocite.nn.softmax_losses import listwise_loss
from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.neighbours import nearest, with_citations
from cocite.systems.citeomatic.artifacts import NNRankReranker, NNSelectEncoder
from cocite.systems.citeomatic.cross_fitting import FoldVectors
from cocite.systems.citeomatic.losses import margin_triplet_loss
from cocite.systems.citeomatic.negatives import CiteomaticNegatives, NegativeSettings, Triplets
from cocite.systems.citeomatic.nnrank_network import NNRank, NNRankModelSettings, Pairs, shared_words
from cocite.systems.citeomatic.nnselect_network import TokenBags, embedding_penalty
from cocite.systems.citeomatic.nnselect_task import union
from cocite.text.fields import FieldEncoder, FieldSettings, take
from cocite.training.loop import LoopSettings
from cocite.training.measure import ranking_metrics
from cocite.training.periods import Periods, PeriodSettings
from cocite.training.stages import Keep


class CandidateSettings(Settings):
    """Which candidates NNRank is to order."""

    neighbours: PositiveSmallCount = 100
    """K: nearest papers in NNSelect's space; what they cite is added."""
    expand: bool = True
    """Whether the neighbours' citations are added."""


class NNRankObjectiveSettings(Settings):
    """What is minimised."""

    objective: Literal["paper", "listwise"] = "listwise"
    """``paper``: triplets with margins on the sigmoid (Eq. 2). ``listwise``: softmax over a query's candidates."""
    batch: BatchSize = 64
    """Triplets (objective ``paper``) or queries (``listwise``) of a step."""
    triplets: Total = 500_000
    """Triplets of an epoch (objective ``paper``)."""
    gamma: Factor = 1.0
    """Margin multiplier (objective ``paper``)."""
    positives: PositiveSmallCount = 20
    """At most so many citations of a query (objective ``listwise``)."""
    folds: int = Field(3, ge=0, le=100)
    """NNSelect is trained again for so many folds, so that its similarities of training queries are like those of
    new ones; 0 takes the similarities of the one NNSelect, which has seen the answers."""
    listed: PositiveSmallCount = 60
    """Candidates of a query that it does not cite (objective ``listwise``)."""
    temporal: bool | None = None
    """Whether a training query sees in-citations and links of the years before it alone, or those of all other
    training papers, its own left out. Unset: the former where years separate the training papers from the dev queries,
    so that counts in training are distributed as they are for the queries of dev."""
    word_dropout: ProperShare = 0.1
    table_rate: LearningRate | None = None
    """Learning rate of what belongs to a word (its vector, its shared weight): at that of the layers it overfits long
    before they have learned. Unset: one rate for all."""
    l1: Penalty = 0.0
    l2: Penalty = 0.0

    @field_validator("folds")
    @classmethod
    def _several(cls, value: int) -> int:
        if value == 1:
            raise ValueError("one fold would leave nothing to train on: give 0, or 2 and more")
        return value


class NNRankRecipe(Settings):
    """All of an NNRank training."""

    kind: Literal["nnrank"] = "nnrank"
    period: PeriodSettings = PeriodSettings()
    fields: FieldSettings = FieldSettings()
    model: NNRankModelSettings = NNRankModelSettings()
    objective: NNRankObjectiveSettings = NNRankObjectiveSettings()
    candidates: CandidateSettings = CandidateSettings()
    negatives: NegativeSettings = NegativeSettings()
    loop: LoopSettings = LoopSettings()
    keep: Keep = "unless_below"
    """What becomes of an NNRank that is below the stage before it on dev: it is left out, or kept (``always``)."""


class Lists(NamedTuple):
    """A batch of queries with the candidates each is to order."""

    query: NDArray[np.int32]  # (Q,)
    rows: NDArray[np.int32]  # (Q, k), padded with NO_ROW
    relevant: NDArray[np.bool_]  # (Q, k)


class CitationsBefore:
    """In-citations of any paper before any year, from one sorted table of links."""

    _SPAN = 1 << 16

    def __init__(self, history: History) -> None:
        self.history = history
        cited_by = history.cited_by
        owners, citing = cited_by.pairs()
        years = np.asarray(history.corpus.years)
        self._keys = np.sort(owners.astype(np.int64) * self._SPAN + np.maximum(years[citing], 0))
        self._starts = cited_by.indptr
        self._years = years

    def __call__(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.int64]:
        """(P,) citations of each paper from years before its query's; of an undated query, all but its own."""
        year = self._years[query].astype(np.int64)
        counts = np.searchsorted(self._keys, paper.astype(np.int64) * self._SPAN + year) - self._starts[paper]
        undated = year <= 0
        if undated.any():
            own = self.history.cites.contains(query[undated], paper[undated])
            counts[undated] = self.history.in_citations[paper[undated]] - own
        return np.asarray(counts, np.int64)


class NNRankTask:
    """NNRank on the history's citations: see :class:`~cocite.training.loop.Task`.

    Args:
        recipe: settings.
        periods: what is known, and the dev queries.
        fields: bags of papers.
        encoder: NNSelect.
        folds: NNSelect's vectors that have not seen the training queries' citations; its own when not given.

    Attributes:
        temporal: whether a training query knows earlier years alone, or all other training papers.
        dev: (D, M) candidates of the dev queries, in NNSelect's order.
    """

    metric = "F1@20"

    def __init__(
        self,
        recipe: NNRankRecipe,
        periods: Periods,
        fields: FieldEncoder,
        encoder: NNSelectEncoder,
        folds: FoldVectors | None = None,
    ) -> None:
        torch.manual_seed(recipe.loop.seed)
        self.recipe, self.periods = recipe, periods
        given = recipe.objective.temporal
        self.temporal = periods.years_separate if given is None else given
        history, corpus = periods.history, periods.history.corpus
        vocabulary = fields.vocabularies["words"]
        self.model = NNRank({name: len(v) for name, v in fields.vocabularies.items()}, recipe.model)
        self._start_from_frequency(fields, int(history.citing.sum()))
        rows = np.arange(len(corpus), dtype=np.int32)
        self.vectors = encoder.encode_papers(corpus, rows)
        self.folds = folds or FoldVectors.same(self.vectors)
        self.reranker = NNRankReranker(
            self.model, fields, corpus, history, encoder=encoder, vectors=self.vectors
        )
        self.bags = self.reranker.bags or fields.papers(corpus)
        self.negatives = CiteomaticNegatives(history, union(self.bags), len(vocabulary), recipe.negatives)
        self.before = CitationsBefore(history)
        self.in_citations = torch.from_numpy(history.in_citations.astype(np.float32))
        self.dev = self.candidates(periods.dev)
        self._training: NDArray[np.int32] | None = None

    def _start_from_frequency(self, fields: FieldEncoder, documents: int) -> None:
        """Rare words count more before anything is learned: magnitudes and shared weights begin as their idf."""
        for name, vocabulary in fields.vocabularies.items():
            idf = torch.from_numpy(vocabulary.inverse_document_frequency(documents))
            if not len(idf):
                continue
            for side in ("both", "query", "paper"):
                if f"{name}_{side}" in self.model.tables:
                    self.model.table("title" if name == "words" else name, side).magnitude.data[:, 0] = (
                        idf / idf.mean()
                    )
            if name == "words" and self.recipe.model.intersection:
                # A title shares a few words, an abstract a few dozen: sums of this size suit the layers above.
                self.model.shared_weight.data = idf / idf.mean() / 10

    def candidates(self, queries: NDArray[np.int32]) -> Ranking:
        """(Q, M) NNSelect's neighbours of dev queries, and what they are known to cite."""
        return self._candidates(self.vectors, queries, None)

    def training_candidates(self, queries: NDArray[np.int32]) -> NDArray[np.int32]:
        """(Q, M) candidates of training queries, padded, in the space of each query's fold.

        Where history goes by years, they are no later than the query.
        """
        years = np.asarray(self.periods.history.corpus.years)
        latest = np.where(years[queries] > 0, years[queries], np.iinfo(np.int16).max)
        found = []
        for fold, vectors in enumerate(self.folds.vectors):
            place = np.flatnonzero(self.folds.fold[queries] == fold)
            some = queries[place]
            ranking = self._candidates(vectors, some, latest[place] if self.temporal else None)
            found.append((place, ranking.rows))
        width = max(rows.shape[1] for _, rows in found)
        result = np.full((len(queries), width), NO_ROW, np.int32)
        for place, rows in found:
            result[place, : rows.shape[1]] = rows
        return result

    def _candidates(
        self, vectors: NDArray[np.float32], queries: NDArray[np.int32], latest: NDArray[np.int16] | None
    ) -> Ranking:
        settings, history = self.recipe.candidates, self.periods.history
        years = np.asarray(history.corpus.years)
        found = nearest(
            vectors[queries], vectors, settings.neighbours, exclude=queries, latest=latest, years=years
        )
        if not settings.expand:
            return found
        return with_citations(found, history.cites, vectors[queries], vectors, exclude=queries)

    # -- batches ---------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """About how many batches an epoch has."""
        settings = self.recipe.objective
        count = settings.triplets if settings.objective == "paper" else len(self.negatives.queries)
        return -(-count // settings.batch)

    def batches(self, epoch: int) -> Iterator[Triplets | Lists]:
        """Triplets, or queries with lists of candidates."""
        rng = np.random.default_rng([self.recipe.loop.seed, epoch])
        settings = self.recipe.objective
        if settings.objective == "paper":
            if not len(self.negatives.neighbours.indices):
                self.negatives.refresh(self.vectors)  # NNSelect is fixed here, so once is enough
            triplets = self.negatives.epoch(rng, settings.triplets)
            for start in range(0, len(triplets), settings.batch):
                yield triplets[start : start + settings.batch]
            return
        queries = self.negatives.queries
        if self._training is None:
            self._training = self.training_candidates(queries)
        order = rng.permutation(len(queries))
        for start in range(0, len(order), settings.batch):
            some = order[start : start + settings.batch]
            yield self._lists(rng, queries[some], self._training[some])

    def _lists(self, rng: np.random.Generator, query: NDArray[np.int32], pool: NDArray[np.int32]) -> Lists:
        """Draw each query's citations and uncited candidates."""
        positives = np.full((len(query), self.recipe.objective.positives), NO_ROW, np.int32)
        owner, cited = self.negatives.cites.gather(query)
        order = np.lexsort((rng.random(len(owner)), owner))  # shuffled within each query
        owner, cited = owner[order], cited[order]
        place = np.arange(len(owner)) - np.searchsorted(owner, owner)
        fits = place < positives.shape[1]
        positives[owner[fits], place[fits]] = cited[fits]
        free = self.negatives.allowed(np.repeat(query, pool.shape[1]), pool.ravel()).reshape(pool.shape)
        keys = np.where(free, rng.random(pool.shape), 2.0)
        listed = min(self.recipe.objective.listed, pool.shape[1])
        chosen = np.argpartition(keys, listed - 1, axis=1)[:, :listed]
        negatives = np.where(np.take_along_axis(free, chosen, 1), np.take_along_axis(pool, chosen, 1), NO_ROW)
        rows = np.concatenate([positives, negatives], axis=1).astype(np.int32)
        relevant = np.zeros(rows.shape, bool)
        relevant[:, : positives.shape[1]] = positives != NO_ROW
        return Lists(query, rows, relevant)

    # -- loss ------------------------------------------------------------------------------------------------

    def logits(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> tuple[Tensor, list[Tensor]]:
        """Log-odds (P,) of pairs of paper rows, with gradient, and the word vectors used."""
        queries, query_place = np.unique(query, return_inverse=True)
        papers, paper_place = np.unique(paper, return_inverse=True)
        dropout = self.recipe.objective.word_dropout
        used: list[Tensor] = []
        units = []
        for rows, side in ((queries, "query"), (papers, "paper")):
            bags = {field: TokenBags.of(self.bags[field], rows) for field in self.recipe.model.fields}
            unit, vectors = self.model.fields(bags, side, dropout)
            units.append(unit)
            used += vectors
        words: dict[str, tuple[Tensor, Tensor]] = {}
        if self.recipe.model.intersection:
            left = {field: take(self.bags[field], queries) for field in ("title", "abstract")}
            words = shared_words(left, query_place, self.bags, paper, len(self.model.shared_weight))
        pairs = Pairs(
            torch.from_numpy(query_place),
            torch.from_numpy(paper_place),
            words,
            torch.from_numpy(self.folds.cosine(query, paper)),
            torch.from_numpy(self.counts(query, paper).astype(np.float32)),
        )
        return self.model(units[0], units[1], pairs), used

    def counts(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.int64]:
        """(P,) in-citations of papers as training queries know them: of earlier years, or all but the query's own."""
        if self.temporal:
            return self.before(query, paper)
        history = self.periods.history
        known = history.in_citations[paper] - history.cites.contains(query, paper)
        return np.asarray(known, np.int64)

    def loss(self, batch: Triplets | Lists) -> Tensor:
        """The objective, with the embeddings' regularisation."""
        settings = self.recipe.objective
        if isinstance(batch, Triplets):
            logits, used = self.logits(
                np.concatenate([batch.query, batch.query]), np.concatenate([batch.positive, batch.negative])
            )
            positive, negative = torch.sigmoid(logits).view(2, -1)
            loss = margin_triplet_loss(
                positive,
                negative,
                torch.from_numpy(batch.kind.astype(np.int64)),
                self.in_citations[batch.positive],
                self.in_citations[batch.negative],
                gamma=settings.gamma,
            )
        else:
            present = batch.rows != NO_ROW
            query, column = np.nonzero(present)
            logits, used = self.logits(batch.query[query], batch.rows[query, column])
            dense = torch.zeros(batch.rows.shape)
            dense[torch.from_numpy(query), torch.from_numpy(column)] = logits
            loss = listwise_loss(dense, torch.from_numpy(batch.relevant), torch.from_numpy(present))
        if settings.l1 or settings.l2:
            for vectors in used:
                loss = loss + embedding_penalty(vectors, l1=settings.l1, l2=settings.l2)
        return loss

    # -- dev -------------------------------------------------------------------------------------------------

    def rank(self, queries: NDArray[np.int32], candidates: Ranking) -> Ranking:
        """Candidates of papers of the corpus, in the order of the present weights."""
        self.model.eval()
        self.reranker.refresh()
        bags = {field: take(bag, queries) for field, bag in self.bags.items()}
        scores = self.reranker.score_bags(bags, self.vectors[queries], queries, candidates.rows)
        return candidates.rescored(scores)

    def evaluate(self) -> dict[str, float]:
        """F1@20 and company of the dev queries over their candidates; ``recall`` is that of the candidates."""
        ranking = self.rank(self.periods.dev, self.dev)
        return ranking_metrics(ranking, self.periods.dev, self.periods.history.corpus.cites)


def nnrank_optimizers(task: NNRankTask) -> list[torch.optim.Optimizer]:
    """Lazy Adam for the tables of vectors, Adam for shared-word weights and layers."""
    rate = task.recipe.loop.learning_rate
    slow = task.recipe.objective.table_rate or rate
    layers: list[torch.optim.Optimizer] = [
        torch.optim.Adam(
            [
                {"params": list(task.model.layers.parameters()), "lr": rate},
                {"params": [task.model.shared_weight], "lr": slow},
            ]
        )
    ]
    tables = [p for table in task.model.tables.values() for p in table.parameters()]
    return [*layers, torch.optim.SparseAdam(tables, lr=slow)] if tables else layers
