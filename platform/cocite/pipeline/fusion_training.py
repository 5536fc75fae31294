"""Examples for the learned fusion: dev queries, each with the history before its year."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

BATCH = 256


class FusionRecipe(Settings):
    """How a learned fusion is trained."""

    kind: Literal["fusion"] = "fusion"
    tasks: tuple[Literal["local", "global"], ...] = ("local", "global")
    """Kinds of query; one that the corpus has no examples of is left out, and said so."""
    queries: int = Field(4000, ge=1)
    """Most queries of a kind, drawn with the seed."""
    local_depth: int = Field(300, ge=2, le=2000)
    """Candidates of a local query."""
    global_depth: int = Field(500, ge=2, le=2000)
    """Candidates of a global query."""
    held_out: float = Field(0.2, ge=0, lt=1)
    """Share of the queries that the dev metric is measured on; the fusion that is kept then sees all."""
    without: tuple[str, ...] = ()
    """Signals left out, by their beginning: ``nnrank``, ``shared-authors``, ``neighbours`` …"""
    vectors: bool = True
    """Whether the similarities of the model folder's encoders are signals."""
    trees: FusionSettings = FusionSettings()
    """How the trees are grown."""
    seed: int = 0
    """Of the draw of queries."""


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
    without: Sequence[str] = (),
    advance: Callable[[int], object] = lambda _: None,
) -> Examples:
    """The candidates that the first stage finds for queries of one kind, with every signal of them.

    Args:
        first: over an index whose history ends before the queries.
        second: gives NNRank's score, if it has one; its fusions are not used.
        queries: all local or all global.
        relevant: what each cites.
        depth: candidates of each.
        without: beginnings of signals to leave out.
        advance: told how many queries are done.
    """
    options = Options(depth=depth, evidence=False)
    signals: dict[str, list[NDArray[np.float32]]] = {}
    found = []
    for start in range(0, len(queries), BATCH):
        block = queries[start : start + BATCH]
        candidates = first.retrieve(block, options)
        known = dict(candidates.signals)
        if second.nnrank is not None:
            known["nnrank"] = second.nnrank.score(block, candidates.ranking)
        for name, values in known.items():
            if not name.startswith(tuple(without)):
                signals.setdefault(name, []).append(values)
        indptr = relevant.indptr[start : start + len(block) + 1]
        entries = relevant.indices[indptr[0] : indptr[-1]]
        found.append(labels(candidates.ranking, indptr - indptr[0], entries))
        advance(len(block))
    joined = {name: np.concatenate(parts) for name, parts in signals.items()}
    papers = np.array([query.paper for query in queries], np.int32)
    return Examples(joined, np.concatenate(found), relevant.degrees[: len(queries)], papers)


def learn(data: Examples, recipe: FusionRecipe) -> tuple[LearnedFusion, Mapping[str, float]]:
    """Train on all examples; the metrics are those of a fusion that did not see the held-out share."""
    # Held out by manuscript: two gaps of one paper are too alike to tell anything of each other.
    papers = np.random.default_rng(recipe.seed).permutation(np.unique(data.papers))
    held = np.isin(data.papers, papers[: int(len(papers) * recipe.held_out)])
    metrics: dict[str, float] = {}
    if held.any():
        kept, test = data.take(np.flatnonzero(~held)), data.take(np.flatnonzero(held))
        fusion = train(kept.signals, kept.relevant, recipe.trees)
        metrics = {
            **_measured("first-stage ", test, test.signals["first-stage"]),
            **_measured("", test, fusion.scores(test.signals, threads=recipe.trees.threads)),
        }
    return train(data.signals, data.relevant, recipe.trees), metrics


def _measured(prefix: str, data: Examples, scores: NDArray[np.float32]) -> dict[str, float]:
    """MRR and R@10 of an order of the candidates; a paper that is not among them counts as not found."""
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(data.relevant, order, axis=1)
    first = np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0)
    recall = hits[:, :10].sum(axis=1) / np.maximum(data.counts, 1)
    return {f"{prefix}MRR": float(first.mean()), f"{prefix}R@10": float(recall.mean())}
