"""Examples for the learned fusions: dev queries with the history before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from cocite.reranking.learned_fusion import FusionSettings, LearnedFusion, labels, train

BATCH = 256


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
    """Share of the queries that the dev metric is measured on; the fusion that is kept then sees all."""
    without: Annotated[tuple[Name, ...], Field(max_length=1000)] = ()
    """Signals left out, by their beginning: ``nnrank``, ``shared-authors``, ``neighbours`` …"""
    trees: FusionSettings = FusionSettings()
    """How the trees are grown."""
    index: FilePath | None = None
    """An index folder of the same corpus, whose vectors and word statistics are taken in place of making them anew."""
    seed: Seed = 0
    """Of the draw of queries."""


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


def learn(
    data: Examples, recipe: RankingRecipe, *, against: Sequence[str] = ("first-stage",)
) -> tuple[LearnedFusion, Mapping[str, float]]:
    """Train on all examples; the metrics are those of a fusion that did not see the held-out share.

    Args:
        data: of one kind of query.
        recipe: how.
        against: signals whose order is measured on the same share.
    """
    # Held out by manuscript: two gaps of one paper are too alike to tell anything of each other.
    held = reserved(data.papers, recipe.held_out, recipe.seed + 1)
    metrics: dict[str, float] = {}
    if held.any():
        kept, test = data.take(np.flatnonzero(~held)), data.take(np.flatnonzero(held))
        fusion = train(kept.signals, kept.relevant, recipe.trees)
        for name in against:
            metrics |= _measured(f"{name} ", test, test.signals[name])
        metrics |= _measured("", test, fusion.scores(test.signals, threads=recipe.trees.threads))
    return train(data.signals, data.relevant, recipe.trees), metrics


def _measured(prefix: str, data: Examples, scores: NDArray[np.float32]) -> dict[str, float]:
    """MRR and R@10 of an order of the candidates; a paper that is not among them counts as not found."""
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(data.relevant, order, axis=1)
    first = np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0)
    recall = hits[:, :10].sum(axis=1) / np.maximum(data.counts, 1)
    return {f"{prefix}MRR": float(first.mean()), f"{prefix}R@10": float(recall.mean())}
