"""Fits the probabilities of a model folder, ``confidence``, to the dev split.

Signals that count citations count those of the history before dev, as they do when dev is evaluated.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.tasks import EvalTask
from cocite.manifests import read_manifest
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.search_index import SearchIndex
from cocite.systems.confidence.calibration import Confidence
from cocite.systems.confidence.recipe import ConfidenceRecipe
from cocite.systems.confidence.task import ScoredQueries, compare_methods, fit, folds_of
from cocite.systems.learned_fusion.examples import FusionExamples, collect_examples, reserved_queries
from cocite.systems.learned_fusion.recipe import FinalRecipe, FusionRecipe
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.systems.learned_fusion.task import train_trees
from cocite_jobs.storage.transfer import fetch
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.types import TrainedArtifact

SCORE, KNOWN = "calibrated score", "is a candidate"
"""Names under which a stage's score and the padding's mask are collected beside the signals."""
METHOD = "isotonic, score and share"
"""What is written; the others are measured beside it."""


def train_confidence(
    recipe: ConfidenceRecipe,
    corpus: Corpus,
    to: Path,
    progress: ProgressCallback,
) -> TrainedArtifact:
    """Fit a probability to the last stage's score for each kind of query, and write ``to/confidence``.

    Where a cross-encoder reads the candidates, there are two: one for requests that it reads, one for the others.

    Args:
        recipe: which queries, and how.
        corpus: whose dev split is fitted to.
        to: the model folder; empty: the first stage's shipped weights.
        progress: called while it runs.

    Raises:
        InputError: the dev split has no queries.
    """
    began = time.monotonic()
    encoders = components.load_encoders(to if to.is_dir() else None)
    progress.stage("indexing", 0)
    saved = open_index(fetch(recipe.index)) if recipe.index is not None else None
    history = tasks.history_before(corpus, "dev")
    index: SearchIndex = index_of(corpus, history, encoders, saved=saved, advance=progress.advance)
    folder = (
        to if to.is_dir() and any((to / name).is_dir() for name in components.component_names()) else None
    )
    first = FirstStage.over(folder, index, encoders)
    second = SecondStage.load(folder, index, confidence=False)
    reserve, seed = _reserve(folder, second)
    calibrations: dict[Any, dict[Any, Any]] = {}
    metrics: dict[str, float] = {}
    details: dict[str, object] = {}
    compared: dict[str, dict[str, dict[str, float]]] = {}
    for kind in recipe.tasks:
        for stage, rerank in _last_stages(second, kind, recipe.rerank):
            name = f"{kind} {stage}"
            try:
                task = _dev_queries(corpus, kind, recipe, reserve, seed, cross_encoded=bool(rerank))
                progress.stage(f"{name} candidates", len(task))
                scored = _scored(first, second, task, kind, stage, recipe, rerank, reserve, folder, progress)
                progress.stage(f"{name} probabilities", 0)
                calibration = fit(scored, ranks=recipe.ranks, depth=recipe.depth, rerank=rerank)
                compared[name] = compare_methods(scored, ranks=recipe.ranks, folds=5, seed=recipe.seed)
            except InputError as error:
                details[f"{name} left out"] = error.message
                continue
            calibrations.setdefault(kind, {})[stage] = calibration
            metrics |= {f"{name} {metric}": value for metric, value in compared[name][METHOD].items()}
            details[f"{name} queries"] = len(task)
    if not calibrations:
        reasons = "; ".join(sorted({str(reason) for reason in details.values()}))
        raise InputError(f"the dev split has no queries to fit to: {reasons}", where=str(corpus.path))
    meta = {
        "recipe": recipe.model_dump(mode="json"),
        "corpus": corpus.version,
        "dev": metrics,
        "methods": compared,
        "members": components.upstream_fingerprints(folder, index, "confidence") if folder else {},
    }
    Confidence(calibrations=calibrations).save(to / "confidence", meta)
    progress.log(metrics, 0)
    return TrainedArtifact(to / "confidence", metrics, {"seconds": time.monotonic() - began, **details})


def _reserve(folder: Path | None, second: SecondStage) -> tuple[float, int]:
    """The share of dev manuscripts that the fusion did not learn from, and the seed of their draw; 0: none."""
    if folder is None or not second.fusions:
        return 0.0, 0
    recipe = FusionRecipe.parse(read_manifest(folder / "fusion").meta.get("recipe", {}), where=str(folder))
    return recipe.reserve, recipe.seed


def _last_stages(second: SecondStage, kind: str, rerank: int) -> list[tuple[str, int]]:
    """The stages whose score may order the candidates last, each with the number that the cross-encoder reads."""
    before = "fusion" if kind in second.fusions else second.order_before_fusion(kind)
    return [(before, 0), *([("final", rerank)] if second.uses_cross_encoder(kind) else [])]


def _dev_queries(
    corpus: Corpus, kind: str, recipe: ConfidenceRecipe, reserve: float, seed: int, *, cross_encoded: bool
) -> EvalTask:
    """A sample of the dev queries of a kind: of the manuscripts that the fusion did not learn from, if there are any.

    Raises:
        InputError: there are none.
    """
    task = tasks.build(corpus, kind, "dev")
    rows = np.arange(len(task))
    if reserve:
        rows = np.flatnonzero(reserved_queries(task.papers, reserve, seed))
        if not len(rows):
            raise InputError("no dev manuscript is left for confidence")
    most = min(recipe.queries, recipe.cross_encoded) if cross_encoded else recipe.queries
    task = task.take(tasks.draw_sample(rows, most, recipe.seed))
    if recipe.candidates == "all":
        return task
    return replace(task, queries=[query.older_candidates() for query in task.queries])


def _scored(
    first: FirstStage,
    second: SecondStage,
    task: EvalTask,
    kind: str,
    stage: str,
    recipe: ConfidenceRecipe,
    rerank: int,
    reserve: float,
    folder: Path | None,
    progress: ProgressCallback,
) -> ScoredQueries:
    """The queries' candidates, scored by a stage that did not learn from them."""
    fusion, final = second.fusions.get(kind), second.finals.get(kind) if rerank else None
    # A fusion with a reserve has not seen these manuscripts; the final fusion has learned from them.
    seen = final or (None if reserve else fusion)
    blended = rerank and seen is not None and final is None
    source = _Scores(first, second, kind, recipe.depth, 0 if blended else rerank, seen.names if seen else ())
    data = collect_examples(source, task.queries, task.relevant, advance=progress.advance)
    scores = data.signals[SCORE]
    if seen is not None and folder is not None:
        progress.stage(f"{kind} {stage} trees", recipe.folds)
        grown = list(_grown_trees(data, seen, "final" if final else "fusion", folder, recipe, progress))
        if blended:
            return _blended(first, second, task, kind, recipe, rerank, grown, progress)
        scores = np.zeros_like(scores)
        for part, trees in grown:
            scores[part] = trees.scores(data.take(part).signals, threads=recipe.threads)
    return _scored_queries(data, scores)


def _scored_queries(data: FusionExamples, scores: NDArray[np.float32]) -> ScoredQueries:
    known = data.signals[KNOWN].astype(bool)
    return ScoredQueries(np.where(known, scores, -np.inf), data.relevant & known, data.papers)


def _grown_trees(
    data: FusionExamples,
    trees: LearnedFusion,
    name: str,
    folder: Path,
    recipe: ConfidenceRecipe,
    progress: ProgressCallback,
) -> Iterator[tuple[NDArray[np.int64], LearnedFusion]]:
    """Each part of the manuscripts' queries, and trees like those of a fusion that are grown on the other parts."""
    parse = FinalRecipe.parse if name == "final" else FusionRecipe.parse
    settings = parse(read_manifest(folder / name).meta.get("recipe", {}), where=str(folder / name)).trees
    settings = settings.model_copy(
        update={"trees": trees.booster.num_trees(), "threads": min(settings.threads, recipe.threads)}
    )
    for part, rest in folds_of(data.papers, recipe.folds, recipe.seed):
        others = data.take(rest)
        # As many candidates of a query as the fusion learned from: with more, the scores are others.
        signals = {signal: values[:, : trees.depth] for signal, values in others.signals.items()}
        yield part, train_trees(signals, others.relevant[:, : trees.depth], settings, names=trees.names)
        progress.advance(1)


def _blended(
    first: FirstStage,
    second: SecondStage,
    task: EvalTask,
    kind: str,
    recipe: ConfidenceRecipe,
    rerank: int,
    grown: Sequence[tuple[NDArray[np.int64], LearnedFusion]],
    progress: ProgressCallback,
) -> ScoredQueries:
    """The cross-encoder's score blended with that of a fusion, for each part with the trees that did not see it."""
    progress.stage(f"{kind} cross-encoder", len(task))
    parts = []
    for part, trees in grown:
        unseen = copy.copy(second)
        unseen.fusions = {**second.fusions, kind: trees}
        source = _Scores(first, unseen, kind, recipe.depth, rerank, ())
        some = task.take(part)
        data = collect_examples(source, some.queries, some.relevant, advance=progress.advance)
        parts.append(_scored_queries(data, data.signals[SCORE]))
    return ScoredQueries(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("scores", "relevant", "papers")
        )
    )


class _Scores:
    """A :class:`~cocite.systems.learned_fusion.examples.CandidateSource` of one stage's score and some signals."""

    def __init__(
        self,
        first: FirstStage,
        second: SecondStage,
        kind: str,
        depth: int,
        rerank: int,
        names: Sequence[str],
    ) -> None:
        self.first, self.second, self.kind, self.rerank, self.names = first, second, kind, rerank, names
        self.options = Options(depth=depth, rerank=rerank, evidence=False)

    def find(self, queries: Sequence[Query]) -> tuple[Ranking, dict[str, NDArray[Any]]]:
        """The candidates that the stage scores, with its score and the signals."""
        candidates = self.first.retrieve(queries, self.options)
        scores, signals = self.second.score_all(queries, candidates)
        ranking, last = candidates.top, scores[[*scores][-1]]
        if self.rerank:
            top, signals = self.second.score_top(queries, ranking.rows, scores, signals, self.rerank)
            final = self.second.final_scores(self.kind, top, scores, signals, self.options.cross_weight)[
                "final"
            ]
            ranking, last = top.ranking, np.take_along_axis(final, top.columns, 1)
        kept = {name: signals[name] for name in self.names}
        known = (ranking.rows != NO_ROW).astype(np.float32)
        return ranking, {**kept, SCORE: np.where(known > 0, last, 0).astype(np.float32), KNOWN: known}
