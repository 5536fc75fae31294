"""Examples for the learned fusions: dev queries with the history before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.bounds import Depth, FilePath, Name, ProperShare, Seed, Total
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Query
from cocite.systems.learned_fusion.reranker import FusionSettings, LearnedFusion, labels, train
from cocite.training.stages import (
    Keep,
    StageComparison,
    Values,
    compare_stages,
    metric_means,
    score_values,
)

BATCH = 256
MEASURED = 200
"""Held-out queries from which on one part is enough to measure a fusion."""
STEPS = 10
"""Numbers of trees that are tried on the held-out queries, in equal steps."""


class RankingRecipe(Settings):
    """What every training of a LambdaMART is told."""

    tasks: Annotated[tuple[Literal["local", "global"], ...], Field(min_length=1, max_length=2)] = (
        "local",
        "global",
    )
    """Kinds of query; one that the corpus has no examples of is left out, and said so."""
    queries: Total = 4000
    """Most queries of a kind, drawn with the seed."""
    held_out: ProperShare = 0.2
    """Share of the manuscripts whose queries the dev metric is measured on, other fusions being trained on the rest;
    the one that is kept sees all. Where that is few queries, several such shares are measured, each by its own."""
    without: Annotated[tuple[Name, ...], Field(max_length=1000)] = ()
    """Signals left out, by their beginning: ``nnrank``, ``shared-authors``, ``neighbours`` …"""
    trees: FusionSettings = FusionSettings()
    """How the trees are grown."""
    index: FilePath | None = None
    """An index folder of the same corpus, whose vectors and word statistics are taken in place of making them anew."""
    seed: Seed = 0
    """Of the draw of queries."""
    keep: Keep = "unless_below"
    """What becomes of a fusion that is below the order before it on dev: it is left out, or kept (``always``)."""


class FusionRecipe(RankingRecipe):
    """How a learned fusion is trained."""

    kind: Literal["fusion"] = "fusion"
    local_depth: Depth = 300
    """Candidates of a local query."""
    global_depth: Depth = 500
    """Candidates of a global query."""
    reserve: float = Field(0.0, ge=0, le=0.9)
    """Share of the dev manuscripts that the fusion does not see, so that a final fusion can be trained on them."""


class FinalRecipe(RankingRecipe):
    """How a final fusion is trained: behind the cross-encoder, on the dev manuscripts that the fusion did not see."""

    kind: Literal["final"] = "final"
    queries: Total = 600
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


def held_out_parts(papers: NDArray[np.int32], share: float, seed: int) -> list[NDArray[np.int64]]:
    """Positions of the queries of each held-out part, given the manuscript of each query.

    Held out is by manuscript: two gaps of one paper are too alike to tell anything of each other. There is one part
    of the given share; where that is fewer than ``MEASURED`` queries, there are more, none with a query in common.
    """
    distinct = np.random.default_rng(seed).permutation(np.unique(papers))
    size = round(share * len(distinct))
    parts: list[NDArray[np.int64]] = []
    while size and size * (len(parts) + 1) <= len(distinct) and sum(map(len, parts)) < MEASURED:
        mine = distinct[size * len(parts) : size * (len(parts) + 1)]
        parts.append(np.flatnonzero(np.isin(papers, mine)))
    return parts


@dataclass(frozen=True)
class Learned:
    """A fusion, and what its training found on held-out queries.

    Attributes:
        fusion: trained on all examples.
        metrics: of fusions that did not see the queries they are measured on, and of the orders before.
        comparison: those fusions with the order before them; None where nothing was held out.
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
    """Train on all examples; what is measured is fusions that did not see the queries they are measured on.

    Args:
        data: of one kind of query.
        recipe: how.
        stage: name of the fusion.
        kind: of the queries.
        against: signals whose order is measured on the same queries; the first is what the fusion reorders.
    """
    parts = held_out_parts(data.papers, recipe.held_out, recipe.seed + 1)
    if not parts:
        fusion = train(data.signals, data.relevant, recipe.trees)
        return Learned(fusion, {}, None, f"{kind} {stage}: nothing is held out, so it is not measured")
    settings = recipe.trees
    steps = np.unique(np.linspace(0, settings.trees, STEPS + 1).round().astype(int))[1:].tolist()
    after: list[list[Values]] = []  # for each part, for each number of trees
    for part in parts:
        kept, test = data.take(np.setdiff1d(np.arange(len(data.papers)), part)), data.take(part)
        scores = train(kept.signals, kept.relevant, settings).scores_after(
            test.signals, steps, threads=settings.threads
        )
        after.append([score_values(some, test.relevant, test.counts) for some in scores])
    measured = data.take(np.concatenate(parts))
    by_trees = [np.concatenate(values) for values in zip(*after, strict=True)]
    best = _best(by_trees, measured.papers)
    values, trees = by_trees[best], steps[best]
    others = {
        name: score_values(measured.signals[name], measured.relevant, measured.counts) for name in against
    }
    metrics = {
        f"{prefix}{name}": value
        for prefix, some in ({f"{name} ": v for name, v in others.items()} | {"": values}).items()
        for name, value in metric_means(some).items()
    }
    note = f"{kind} {stage}: all {trees} trees are kept: fewer were not better by more than chance"
    if trees < settings.trees:
        note = f"{kind} {stage}: {trees} of {settings.trees} trees are kept: more were worse"
        settings = settings.model_copy(update={"trees": trees})
    comparison = compare_stages(stage, against[0], kind, values, others[against[0]], measured.papers)
    return Learned(train(data.signals, data.relevant, settings), metrics, comparison, note)


def _best(by_trees: Sequence[Values], papers: NDArray[np.int32]) -> int:
    """Which number of trees orders held-out queries best.

    It is the last unless another is better by more than chance: the 95 % interval of the difference in the mean of the
    three metrics lies below 0.
    """
    best = int(np.argmax([sum(metric_means(values).values()) for values in by_trees]))
    whole = compare_stages("all trees", "fewer", "", by_trees[-1], by_trees[best], papers)
    return best if whole.differences["mean"][1] < 0 else len(by_trees) - 1
