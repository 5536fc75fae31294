"""The part of NNRank's training that both objectives share (Citeomatic, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.errors import InputError
from cocite.protocols import Ranking
from cocite.systems.citeomatic.negatives import CiteomaticNegatives
from cocite.systems.citeomatic.nnrank.candidates import NeighbourCandidates
from cocite.systems.citeomatic.nnrank.citations_before import CitationsBefore
from cocite.systems.citeomatic.nnrank.cross_fitting import FoldVectors
from cocite.systems.citeomatic.nnrank.network import NNRank, Pairs, shared_words
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnrank.reranker import NNRankReranker, save_nnrank
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder
from cocite.systems.citeomatic.paper_words import text_words
from cocite.systems.citeomatic.word_bags import TokenBags, embedding_penalty
from cocite.text.fields import TEXT, FieldEncoder, take
from cocite.training.engine.optimizers import ParameterGroup
from cocite.training.engine.world import World
from cocite.training.measure import ranking_metrics
from cocite.training.periods import Periods


@dataclass(frozen=True)
class PairBatch:
    """Pairs of queries and papers, with the bags of the distinct ones.

    Attributes:
        queries, papers: field -> bags.
        pairs: P pairs of their positions.

    Example:
        >>> from cocite.corpus.starter import starter_corpus

        >>> from cocite.systems.citeomatic.nnrank.task import nnrank_task
        >>> from cocite.systems.citeomatic.nnselect.network import NNSelect
        >>> recipe = NNRankRecipe.parse({"candidates": {"neighbours": 5}})
        >>> periods = Periods.of(starter_corpus(), recipe.period)
        >>> fields = FieldEncoder.build(periods.history, recipe.fields)
        >>> encoder = NNSelectEncoder(NNSelect(len(fields.vocabularies["words"]), 8), fields, "untrained")
        >>> batch = nnrank_task(recipe, periods, fields, encoder).pairs(np.array([9, 9]), np.array([3, 4]))
        >>> len(batch.queries["title"].offsets) - 1, len(batch.papers["title"].offsets) - 1, len(batch.pairs.query)
        (1, 2, 2)
    """

    queries: Mapping[str, TokenBags]
    papers: Mapping[str, TokenBags]
    pairs: Pairs


class NNRankTask:
    """NNRank on the history's citations; see :class:`~cocite.training.engine.task.TrainTask`.

    Args:
        recipe: settings.
        periods: what is known, and the dev queries.
        fields: bags of papers.
        encoder: NNSelect.
        fit_folds: computes NNSelect's vectors that have not seen the training queries' citations, as
            :func:`~.cross_fitting.cross_fit` does; its own vectors serve when not given.

    Attributes:
        temporal: whether a training query knows earlier years alone, or all other training papers.
        folds: the vectors that training queries' similarities are computed from.
        dev: (D, M) candidates of the dev queries, in NNSelect's order; none before :meth:`prepare`.
        reranker: the network as a reranker of the corpus.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnrank.task import nnrank_task
        >>> from cocite.systems.citeomatic.nnselect.network import NNSelect
        >>> recipe = NNRankRecipe.parse({"candidates": {"neighbours": 5}, "objective": {"table_rate": 0.001}})
        >>> periods = Periods.of(starter_corpus(), recipe.period)
        >>> fields = FieldEncoder.build(periods.history, recipe.fields)
        >>> encoder = NNSelectEncoder(NNSelect(len(fields.vocabularies["words"]), 8), fields, "untrained")
        >>> task = nnrank_task(recipe, periods, fields, encoder)
        >>> kept = task.prepare(World(), stage=print)
        candidates
        >>> sorted(kept)
        ['candidates', 'dev rows', 'dev scores', 'nnselect']
        >>> 0 <= task.evaluate(task.model, World())["F1@20"] <= 1
        True
    """

    metric = "F1@20"
    is_ordered = True

    def __init__(
        self,
        recipe: NNRankRecipe,
        periods: Periods,
        fields: FieldEncoder,
        encoder: NNSelectEncoder,
        fit_folds: Callable[..., FoldVectors] | None = None,
    ) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.periods, self.fields, self.encoder = recipe, periods, fields, encoder
        chosen = recipe.objective.temporal
        self.temporal = periods.years_separate if chosen is None else chosen
        history, corpus = periods.history, periods.history.corpus
        self.types = len(fields.vocabularies["words"])
        types = {name: len(v) for name, v in fields.vocabularies.items()}
        self.model = NNRank(types, recipe.model, sparse=recipe.training.is_lazy)
        self._initialize_from_frequency(int(history.citing.sum()))
        self.vectors = encoder.encode_papers(corpus, np.arange(len(corpus), dtype=np.int32))
        self.fit_folds, self.folds = fit_folds, FoldVectors.same(self.vectors)
        self.reranker = NNRankReranker(
            self.model, fields, corpus, history, encoder=encoder, vectors=self.vectors
        )
        self.bags = self.reranker.bags or fields.papers(corpus)
        self.sizes: NDArray[np.int64] = np.sum(
            [self.bags[field].degrees for field in TEXT], axis=0, dtype=np.int64
        )
        self.negatives = CiteomaticNegatives(
            history, text_words(fields, corpus, self.bags), self.types, recipe.negatives
        )
        self.before = CitationsBefore(history)
        self.candidates = NeighbourCandidates(history, recipe.candidates, self.vectors)
        self.dev = Ranking(
            np.zeros((len(periods.dev), 0), np.int32), np.zeros((len(periods.dev), 0), np.float32)
        )

    def _initialize_from_frequency(self, documents: int) -> None:
        """Start magnitudes and shared weights at the types' idf: rare words count more before anything is learned."""
        for name, vocabulary in self.fields.vocabularies.items():
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

    # -- what the engine asks ----------------------------------------------------------------------------------

    def parameter_groups(self) -> Sequence[ParameterGroup]:
        """The groups of parameters: those of words have a rate of their own, and tables (LazyAdam) sparse gradients."""
        rate = self.recipe.training.optimizer.learning_rate
        share = (self.recipe.objective.table_rate or rate) / rate
        tables = frozenset(f"tables.{name}" for name, _ in self.model.tables.named_parameters())
        return [
            ParameterGroup(frozenset({"shared_weight"}), rate_share=share),
            ParameterGroup(tables, rate_share=share, sparse=self.recipe.training.is_lazy),
        ]

    def prepare(self, world: World, stage: Callable[[str], None]) -> Mapping[str, Tensor]:
        """Train NNSelect for each fold, where the recipe asks for folds, and find the dev queries' candidates."""
        prepared = dict(self.state())
        if self.fit_folds is not None:
            self.folds = self.fit_folds(world=world, stage=stage)
            prepared["fold"] = torch.from_numpy(self.folds.fold)
            prepared["vectors"] = torch.from_numpy(self.folds.vectors)
        stage("candidates")
        self.dev = self.candidates.dev(self.periods.dev, world)
        prepared["dev rows"] = torch.from_numpy(self.dev.rows)
        prepared["dev scores"] = torch.from_numpy(self.dev.scores)
        return prepared

    def load_prepared(self, prepared: Mapping[str, Tensor]) -> None:
        """Take back the folds' vectors and the candidates.

        Raises:
            InputError: they are of another NNSelect.
        """
        self.load_state(prepared)
        if "fold" in prepared:
            self.folds = FoldVectors(prepared["fold"].numpy(), prepared["vectors"].numpy())
        self.dev = Ranking(prepared["dev rows"].numpy(), prepared["dev scores"].numpy())

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Nothing is mined with NNRank's weights: its candidates are those of an NNSelect that stays as it is."""

    def state(self) -> Mapping[str, Tensor]:
        """The id of the NNSelect that the candidates and similarities are of."""
        return {"nnselect": torch.tensor(list(self.encoder.id.encode()), dtype=torch.uint8)}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Refuse a checkpoint that was trained on another NNSelect, and what was prepared with another.

        Raises:
            InputError: it was.
        """
        if bytes(state["nnselect"].tolist()).decode() != self.encoder.id:
            raise InputError(
                "the nnselect of the model folder is another than the one that this training began with",
                where="nnrank",
                hint="start over: --fresh",
            )

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:  # noqa: ARG002
        """Metrics of the dev queries over their candidates; ``recall`` is that of the candidates."""
        ranking = self.rank(self.periods.dev, self.dev, world)
        return ranking_metrics(ranking, self.periods.dev, self.periods.history.corpus.cites)

    def rank(self, queries: NDArray[np.int32], candidates: Ranking, world: World | None = None) -> Ranking:
        """Candidates of papers of the corpus, in the order of the present weights.

        Args:
            queries: (Q,) rows.
            candidates: (Q, M).
            world: the processes that share the queries.
        """
        world = world or World(device=self.model.shared_weight.device)
        mine = world.share(len(queries))
        own = queries[mine]
        with torch.autocast(world.device.type, enabled=False):
            self.reranker.refresh()
            bags = {field: take(bag, own) for field, bag in self.bags.items()}
            scores = self.reranker.score_bags(bags, self.vectors[own], own, candidates.rows[mine])
        scores = world.concatenate(torch.from_numpy(scores).to(world.device)).cpu().numpy()
        return candidates.rescored(scores)

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the reranker."""
        save_nnrank(folder, self.model, self.fields, meta, nnselect=self.encoder.id)

    # -- what the objectives share -----------------------------------------------------------------------------

    def pairs(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> PairBatch:
        """A batch of (P,) pairs of paper rows."""
        queries, query_position = np.unique(query, return_inverse=True)
        papers, paper_position = np.unique(paper, return_inverse=True)
        left, right = (
            {field: TokenBags.of(self.bags[field], rows) for field in self.recipe.model.fields}
            for rows in (queries, papers)
        )
        words: dict[str, tuple[Tensor, Tensor]] = {}
        if self.recipe.model.intersection:
            own = {field: take(self.bags[field], queries) for field in TEXT}
            words = shared_words(own, query_position, self.bags, paper, self.types)
        pairs = Pairs(
            torch.from_numpy(query_position),
            torch.from_numpy(paper_position),
            words,
            torch.from_numpy(self.folds.cosine(query, paper)),
            torch.from_numpy(self.counts(query, paper).astype(np.float32)),
        )
        return PairBatch(left, right, pairs)

    def logits(self, model: nn.Module, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """Log-odds (P,) of a batch's pairs, and the regularisation of the word vectors that they used."""
        assert isinstance(model, NNRank)
        settings = self.recipe.objective
        queries, used = model.fields(batch.queries, "query", settings.word_dropout)
        papers, more = model.fields(batch.papers, "paper", settings.word_dropout)
        logits: Tensor = model(queries, papers, batch.pairs)
        penalty = logits.new_zeros(())
        if settings.l1 or settings.l2:
            for vectors in (*used, *more):
                penalty = penalty + embedding_penalty(vectors, l1=settings.l1, l2=settings.l2)
        return logits, penalty

    def counts(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.int64]:
        """(P,) in-citations of papers as training queries know them: of earlier years, or all but the query's own."""
        if self.temporal:
            return self.before(query, paper)
        history = self.periods.history
        # A citation by the query itself would reveal the label.
        known = history.in_citations[paper] - history.cites.contains(query, paper)
        return np.asarray(known, np.int64)

    def rng(self, epoch: int) -> np.random.Generator:
        """The generator that draws an epoch's examples."""
        return np.random.default_rng([self.recipe.training.seed, epoch + 1])

    def pair_flops(self, batch: PairBatch) -> float:
        """FLOPs of a batch's word vectors, features and layers: a forward pass, and twice as much backward."""
        settings = self.recipe.model
        words = sum(len(bags.types) for side in (batch.queries, batch.papers) for bags in side.values())
        first, second = settings.hidden
        layers = len(settings.features) * first + first * second + second
        pairs = len(batch.pairs.query)
        return 6.0 * (
            words * settings.dimension + pairs * (len(settings.fields) * settings.dimension + layers)
        )
