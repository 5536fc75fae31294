"""Examples for the learned fusions: dev queries with the history before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Query
from cocite.reranking.learned_fusion import FusionSettings, LearnedFusion, labels, train
from cocite.training.stages import (
    Keep,
    StageComparison,
    Values,
    compare_stages,
    metric_means,
    score_values,
)

BATCH = 256
STEPS = 10
"""Numbers of trees that are tried on the held-out queries, in equal steps."""


class RankingRecipe(Settings):
    """What every training of a LambdaMART is told."""

    tasks: tuple[Literal["local", "global"], ...] = ("local", "global")
    """Kinds of query; one that the corpus has no examples of is left out, and said so."""
    queries: int = Field(4000, ge=1)
    """Most queries of a kind, drawn with the seed."""
    held_out: float = Field(0.2, ge=0, lt=1)
    """Share of the queries that the dev metric is measured on; the fusion that is kept then sees all."""
    without: tuple[str, ...] = ()
    """Signals left out, by their beginning: ``nnrank``, ``shared-authors``, ``neighbours`` …"""
    trees: FusionSettings = FusionSettings()
    """How the trees are grown."""
    index: Path | None = None
    """An index folder of the same corpus, whose vectors and word statistics are taken in place of making them anew."""
    seed: int = 0
    """Of the draw of queries."""
    keep: Keep = "unless_below"
    """What becomes of a fusion that is below the order before it on dev: it is left out, or kept (``always``)."""


class FusionRecipe(RankingRecipe):
    """How a learned fusion is trained."""

    kind: Literal["fusion"] = "fusion"
    local_depth: int = Field(300, ge=2, le=2000)
    """Candidates of a local query."""
    global_depth: int = Field(500, ge=2, le=2000)
    """Candidates of a global query."""
    reserve: float = Field(0.0, ge=0, le=0.9)
    """Share of the dev manuscripts that the fusion does not see, so that a final fusion can be trained on them."""


class FinalRecipe(RankingRecipe):
    """How a final fusion is trained: behind the cross-encoder, on the dev manuscripts that the fusion did not see."""

    kind: Literal["final"] = "final"
    queries: int = Field(600, ge=1)
    """Most queries of a kind. Each costs ``rerank`` pairs of the cross-encoder."""
    rerank: int = Field(50, ge=2, le=1000)
    """Candidates of a query that the cross-encoder reads."""
    trees: FusionSettings = FusionSettings(trees=150, leaves=15)
    """How the trees are grown."""


def reserved(papers: NDArray[np.int32], share: float, seed: int) -> NDArray[np.bool_]:
    """(Q,) whether each query, given its manuscript, is kept from the fusion; two of one manuscript go together."""
    distinct = np.unique(papers)
    drawn = np.random.default_rng(seed).permutation(distinct)[: round(share * len(distinct))]
    return np.isin(papers, drawn)


@dataclass(frozen=True)
class Examples:
    """Candidates of some queries.

    Attributes:
        signals: name -> (Q, k).
        relevant: (Q, k) whether the query cites the candidate.
        counts: (Q,) how many papers the query cites, found or not.
        papers: (Q,) the manuscript each query comes from.
    """

    signals: dict[str, NDArray[np.float32]]
    relevant: NDArray[np.bool_]
    counts: NDArray[np.int32]
    papers: NDArray[np.int32]

    def take(self, chosen: NDArray[np.int64]) -> Examples:
        """Some of the queries."""
        signals = {name: values[chosen] for name, values in self.signals.items()}
        return Examples(signals, self.relevant[chosen], self.counts[chosen], self.papers[chosen])


def examples(
    first: FirstStage,
    second: SecondStage,
    queries: Sequence[Query],
    relevant: CSR,
    *,
    depth: int,
    rerank: int = 0,
    without: Sequence[str] = (),
    advance: Callable[[int], object] = lambda _: None,
) -> Examples:
    """The candidates of queries of one kind, with every signal of them.

    Args:
        first: over an index whose history ends before the queries.
        second: gives NNRank's score, if it has one; with ``rerank``, the fusion's and the cross-encoder's too.
        queries: all local or all global.
        relevant: what each cites.
        depth: candidates of each that the first stage finds.
        rerank: the best of those alone, by the fusion, as the cross-encoder reads them; 0: all, and no such scores.
        without: beginnings of signals to leave out.
        advance: told how many queries are done.
    """
    options = Options(depth=depth, evidence=False)
    kept: dict[str, list[NDArray[np.float32]]] = {}
    found = []
    for start in range(0, len(queries), BATCH):
        block = queries[start : start + BATCH]
        candidates = first.retrieve(block, options)
        ranking = candidates.ranking
        scores, signals = second.fused(block, candidates)
        if rerank:
            narrowed, signals = second.crossed(block, ranking.rows, scores, signals, rerank)
            ranking = narrowed.ranking
        for name, values in signals.items():
            if not name.startswith(tuple(without)):
                kept.setdefault(name, []).append(values)
        indptr = relevant.indptr[start : start + len(block) + 1]
        entries = relevant.indices[indptr[0] : indptr[-1]]
        found.append(labels(ranking, indptr - indptr[0], entries))
        advance(len(block))
    joined = {name: np.concatenate(parts) for name, parts in kept.items()}
    papers = np.array([query.paper for query in queries], np.int32)
    return Examples(joined, np.concatenate(found), relevant.degrees[: len(queries)], papers)


@dataclass(frozen=True)
class Learned:
    """A fusion, and what its training found on the held-out share.

    Attributes:
        fusion: trained on all examples.
        metrics: of a fusion that did not see the held-out share, and of the orders it is measured against.
        comparison: that fusion with the order before it; None where nothing was held out.
        note: how many of its trees are kept, and why.
    """

    fusion: LearnedFusion
    metrics: dict[str, float]
    comparison: StageComparison | None
    note: str


def learn(
    data: Examples,
    recipe: RankingRecipe,
    *,
    stage: str = "fusion",
    kind: str = "global",
    against: Sequence[str] = ("first-stage",),
) -> Learned:
    """Train on all examples; what is measured is a fusion that did not see the held-out share.

    Args:
        data: of one kind of query.
        recipe: how.
        stage: name of the fusion.
        kind: of the queries.
        against: signals whose order is measured on the same share; the first is what the fusion reorders.
    """
    # Held out by manuscript: two gaps of one paper are too alike to tell anything of each other.
    held = reserved(data.papers, recipe.held_out, recipe.seed + 1)
    if not held.any() or held.all():
        fusion = train(data.signals, data.relevant, recipe.trees)
        return Learned(fusion, {}, None, f"{kind} {stage}: nothing is held out, so it is not measured")
    kept, test = data.take(np.flatnonzero(~held)), data.take(np.flatnonzero(held))
    fusion = train(kept.signals, kept.relevant, recipe.trees)
    trees, values = _best_trees(fusion, test, recipe.trees)
    others = {name: score_values(test.signals[name], test.relevant, test.counts) for name in against}
    metrics = {
        f"{prefix}{name}": value
        for prefix, measured in ({f"{name} ": v for name, v in others.items()} | {"": values}).items()
        for name, value in metric_means(measured).items()
    }
    comparison = compare_stages(stage, against[0], kind, values, others[against[0]], test.papers)
    note = f"{kind} {stage}: all {trees} trees are kept: with fewer it was not better by more than chance"
    settings = recipe.trees
    if trees < settings.trees:
        note = f"{kind} {stage}: {trees} of {settings.trees} trees are kept: with more it was worse"
        settings = settings.model_copy(update={"trees": trees})
    return Learned(train(data.signals, data.relevant, settings), metrics, comparison, note)


def _best_trees(fusion: LearnedFusion, test: Examples, settings: FusionSettings) -> tuple[int, Values]:
    """How many trees order held-out queries best, and the values of their order.

    It is all of them unless fewer are better by more than chance: the 95 % interval of the difference in the mean of
    the three metrics lies below 0.
    """
    steps = np.unique(np.linspace(0, settings.trees, STEPS + 1).round().astype(int))[1:].tolist()
    scores = fusion.scores_after(test.signals, steps, threads=settings.threads)
    values = [score_values(part, test.relevant, test.counts) for part in scores]
    best = int(np.argmax([sum(metric_means(part).values()) for part in values]))
    whole = compare_stages("all trees", "fewer", "", values[-1], values[best], test.papers)
    chosen = best if whole.differences["mean"][1] < 0 else -1
    return steps[chosen], values[chosen]
