"""Trains the learned fusions of a model folder on the dev split, with the history before it."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

import numpy as np

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.tasks import Task
from cocite.manifests import read_manifest
from cocite.pipeline import components as members
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_training import (
    FinalRecipe,
    FusionRecipe,
    RankingRecipe,
    examples,
    learn,
    reserved,
)
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.training.stages import StageComparison, stage_record
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.types import TrainedArtifact


def train_fusion(
    recipe: FusionRecipe,
    corpus: Corpus,
    to: Path,
    progress: ProgressCallback,
    *,
    fresh: bool = False,  # noqa: ARG001  (minutes long: it starts anew every time)
) -> TrainedArtifact:
    """Train on what the folder's other members score, and write ``to/fusion``."""
    training = _Training("fusion", recipe, corpus, to, progress)
    second = SecondStage(
        training.index,
        nnrank=members.load_nnrank(to, training.index),
        nnrank_orders=members.ordered_kinds(to, "nnrank"),
    )
    depths = {"local": recipe.local_depth, "global": recipe.global_depth}
    return training.run(second, depths, reserve=recipe.reserve, seed=recipe.seed)


def train_final(
    recipe: FinalRecipe,
    corpus: Corpus,
    to: Path,
    progress: ProgressCallback,
    *,
    fresh: bool = False,  # noqa: ARG001
) -> TrainedArtifact:
    """Train on the dev manuscripts that ``to/fusion`` did not see, and write ``to/final``."""
    if not (to / "cross-encoder").is_dir():
        raise InputError(
            "holds no cross-encoder, whose score a final fusion weighs",
            where=str(to),
            hint="train a cross-encoder into it first",
        )
    reserve, seed = 1.0, recipe.seed
    if "fusion" in members.kept(to):
        seen = FusionRecipe.parse(
            read_manifest(to / "fusion").meta.get("recipe", {}), where=str(to / "fusion")
        )
        reserve, seed = seen.reserve, seen.seed
        if not reserve:
            raise InputError(
                "the fusion was trained on all dev queries, so its scores there promise too much",
                where=str(to / "fusion"),
                hint="train it again with reserve=0.3",
            )
    training = _Training("final", recipe, corpus, to, progress)
    index = training.index
    second = SecondStage(
        index,
        nnrank=members.load_nnrank(to, index),
        nnrank_orders=members.ordered_kinds(to, "nnrank"),
        fusions=members.load_fusions(to, index, "fusion"),
        cross_encoder=members.load_cross_encoder(to, index),
    )
    depths: dict[str, int] = {kind: second.depth(kind) or Options().depth for kind in recipe.tasks}
    return training.run(second, depths, reserve=reserve, seed=seed, rerank=recipe.rerank)


class _Training:
    """One training of a LambdaMART for each kind of query.

    Attributes:
        index: of the corpus, with the history before dev.
        first: the first stage over it, with the encoders and the blend of the model folder.
    """

    def __init__(
        self, name: str, recipe: RankingRecipe, corpus: Corpus, to: Path, progress: ProgressCallback
    ) -> None:
        self.began = time.monotonic()
        self.name, self.recipe, self.corpus, self.to, self.progress = name, recipe, corpus, to, progress
        encoders = members.load_encoders(to)
        progress.stage("indexing", 0)
        saved = IndexSnapshot.open(recipe.index) if recipe.index is not None else None
        history = tasks.history_before(corpus, "dev")
        self.index: Index = index_of(corpus, history, encoders, saved=saved, advance=progress.advance)
        self.first = FirstStage.over(to, self.index, encoders)

    def run(
        self, second: SecondStage, depths: dict[str, int], *, reserve: float, seed: int, rerank: int = 0
    ) -> TrainedArtifact:
        """Train and write the artifact.

        Args:
            second: scores the candidates.
            depths: how many the first stage finds of a local and of a global query.
            reserve, seed: which dev manuscripts are kept from the fusion.
            rerank: how many of the candidates are learned from, reserved manuscripts asking; 0: all, the others asking.
        """
        recipe, progress = self.recipe, self.progress
        fusions: dict[str, LearnedFusion] = {}
        metrics: dict[str, float] = {}
        details: dict[str, object] = {}
        comparisons: list[StageComparison] = []
        notes: list[str] = []
        for kind in recipe.tasks:
            try:
                task = self._task(kind, reserve, seed, apart=bool(rerank))
            except InputError as error:
                details[f"{kind} left out"] = error.message
                continue
            progress.stage(f"{kind} candidates", len(task))
            data = examples(
                self.first,
                second,
                task.queries,
                task.relevant,
                depth=depths[kind],
                rerank=rerank,
                without=recipe.without,
                advance=progress.advance,
            )
            progress.stage(f"{kind} trees", 0)
            against = _rivals(data.signals, second.order_before_fusion(kind), rerank)
            learned = learn(data, recipe, stage=self.name, kind=kind, against=against)
            fusions[kind] = learned.fusion
            metrics |= {f"{kind} {name}": value for name, value in learned.metrics.items()}
            notes.append(learned.note)
            if learned.comparison is not None:
                comparisons.append(learned.comparison)
            best = [name for name, _ in fusions[kind].importance()[:5]]
            details[f"{kind} queries"] = len(task)
            details[f"{kind} best signals"] = ", ".join(best)
        if not fusions:
            raise InputError("the dev split has no queries to train on", where=str(self.corpus.path))
        record = stage_record(
            comparisons, recipe.keep, left_out="it is left out of the pipeline, and the order before it stays"
        )
        meta = {
            "recipe": recipe.model_dump(mode="json"),
            "corpus": self.corpus.version,
            "dev": metrics,
            "members": members.beneath(self.to, self.index, self.name),
            **record,
            "notes": notes + record["notes"],
        }
        LearnedFusion.save_all(self.to / self.name, fusions, meta)
        progress.log(metrics, 0)
        return TrainedArtifact(
            self.to / self.name, metrics, {"seconds": time.monotonic() - self.began, **details}
        )

    def _task(self, kind: str, reserve: float, seed: int, *, apart: bool) -> Task:
        """Some dev queries of a kind: those of the reserved manuscripts, or those of the others."""
        task = tasks.build(self.corpus, kind, "dev")
        papers = np.array([query.paper for query in task.queries], np.int32)
        mine = np.flatnonzero(reserved(papers, reserve, seed) == apart)
        if not len(mine):
            raise InputError(f"no dev manuscript is left for {self.name}")
        return task.take(tasks.drawn(mine, self.recipe.queries, self.recipe.seed))


def _rivals(signals: Collection[str], before: str, rerank: int) -> list[str]:
    """What a fusion is measured against: the order before it first, and the cross-encoder's."""
    if not rerank:
        return [before]
    before = next(name for name in ("fusion", "nnrank", "first-stage") if f"{name}/gap" in signals)
    return [before, "cross-encoder"]
