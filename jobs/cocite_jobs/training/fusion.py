"""Trains the learned fusions of a model folder, ``fusion`` and ``final``, on the dev split.

Signals that count citations count those of the history before dev.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.tasks import EvalTask
from cocite.manifests import read_manifest
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Encoder
from cocite.retrieval.index.search_index import SearchIndex
from cocite.systems.learned_fusion.examples import collect_examples, reserved_queries
from cocite.systems.learned_fusion.recipe import FinalRecipe, FusionRecipe, RankingRecipe
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.systems.learned_fusion.task import train_measured
from cocite.training.stages import StageComparison, stage_record
from cocite_jobs.retrieval.opened_index import SearchPlace, opened_index
from cocite_jobs.storage.transfer import fetch
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.types import TrainedArtifact

HERE = SearchPlace()


def train_fusion(
    recipe: FusionRecipe,
    corpus: Corpus,
    to: Path,
    progress: ProgressCallback,
    place: SearchPlace = HERE,
) -> TrainedArtifact:
    """Train a LambdaMART on the signals of the folder's other components, and write ``to/fusion``.

    Args:
        recipe: which queries and candidates are learned from, and the trees.
        corpus: whose dev split is learned from.
        to: the model folder.
        progress: called while it trains.
        place: where the shards of the recipe's index are searched.

    Raises:
        InputError: the dev split has no queries.
    """
    depths = {"local": recipe.local_depth, "global": recipe.global_depth}
    with _FusionTraining.opened("fusion", recipe, corpus, to, progress, place) as training:
        second = SecondStage(
            training.index,
            nnrank=components.load_nnrank(to, training.index),
            nnrank_orders=components.ordered_kinds(to, "nnrank"),
        )
        return training.run(second, depths, reserve=recipe.reserve, seed=recipe.seed)


def train_final(
    recipe: FinalRecipe,
    corpus: Corpus,
    to: Path,
    progress: ProgressCallback,
    place: SearchPlace = HERE,
) -> TrainedArtifact:
    """Train a LambdaMART that weighs the cross-encoder's score too, and write ``to/final``.

    It learns from the dev manuscripts that ``to/fusion`` did not learn from, for the fusion's scores of its own are too
    good.

    Args:
        recipe: which queries and candidates are learned from, and the trees.
        corpus: whose dev split is learned from.
        to: the model folder, with a cross-encoder.
        progress: called while it trains.
        place: where the shards of the recipe's index are searched.

    Raises:
        InputError: there is no cross-encoder, no query, or the fusion learned from all dev queries.
    """
    if not (to / "cross-encoder").is_dir():
        raise InputError(
            "holds no cross-encoder, whose score a final fusion weighs",
            where=str(to),
            hint="train a cross-encoder into it first",
        )
    reserve, seed = 1.0, recipe.seed
    if "fusion" in components.active_components(to):
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
    with _FusionTraining.opened("final", recipe, corpus, to, progress, place) as training:
        index = training.index
        second = SecondStage(
            index,
            nnrank=components.load_nnrank(to, index),
            nnrank_orders=components.ordered_kinds(to, "nnrank"),
            fusions=components.load_fusions(to, index, "fusion"),
            cross_encoder=components.load_cross_encoder(to, index),
        )
        depths: dict[str, int] = {kind: second.depth(kind) or Options().depth for kind in recipe.tasks}
        return training.run(second, depths, reserve=reserve, seed=seed, rerank=recipe.rerank)


class _FusionTraining:
    """Trains a LambdaMART for each kind of query, and writes them as one artifact.

    Args:
        name: of the artifact: ``fusion`` or ``final``.
        recipe: which queries and candidates are learned from, and the trees.
        corpus: whose dev split is learned from.
        to: the model folder.
        progress: called while it trains.
        index: of the corpus, with the history before dev.
        encoders: of the model folder.

    Attributes:
        first: the first stage over the index, with the encoders and the blend of the model folder.
    """

    def __init__(
        self,
        name: str,
        recipe: RankingRecipe,
        corpus: Corpus,
        to: Path,
        progress: ProgressCallback,
        index: SearchIndex,
        encoders: Sequence[Encoder],
    ) -> None:
        self.began = time.monotonic()
        self.name, self.recipe, self.corpus, self.to, self.progress = name, recipe, corpus, to, progress
        self.index, self.first = index, FirstStage.over(to, index, encoders)

    @classmethod
    @contextmanager
    def opened(
        cls,
        name: str,
        recipe: RankingRecipe,
        corpus: Corpus,
        to: Path,
        progress: ProgressCallback,
        place: SearchPlace,
    ) -> Iterator[_FusionTraining]:
        """A training over the recipe's index, or one that is made here, while the block runs."""
        encoders, history = components.load_encoders(to), tasks.history_before(corpus, "dev")
        progress.stage("indexing", 0)
        saved = None
        if recipe.index is not None:  # each shard's actor copies its own
            saved = fetch(recipe.index, shards=() if place.on == "ray" else None)
        with opened_index(
            corpus, history, encoders, saved, place, lambda: nullcontext(progress.advance)
        ) as index:
            yield cls(name, recipe, corpus, to, progress, index, encoders)

    def run(
        self, second: SecondStage, depths: dict[str, int], *, reserve: float, seed: int, rerank: int = 0
    ) -> TrainedArtifact:
        """Train and write the artifact.

        Args:
            second: scores the candidates.
            depths: kind of query -> number of candidates that the first stage retrieves.
            reserve, seed: the share of dev manuscripts that the fusion does not learn from, and the seed of their draw.
            rerank: number of top candidates that are learned from, with queries of the reserved manuscripts; 0: all
                candidates, with queries of the other manuscripts.
        """
        recipe, progress = self.recipe, self.progress
        fusions: dict[str, LearnedFusion] = {}
        metrics: dict[str, float] = {}
        details: dict[str, object] = {}
        comparisons: list[StageComparison] = []
        notes: list[str] = []
        for kind in recipe.tasks:
            try:
                task = self._task(kind, reserve, seed, is_reserved=bool(rerank))
            except InputError as error:
                details[f"{kind} left out"] = error.message
                continue
            progress.stage(f"{kind} candidates", len(task))
            data = collect_examples(
                StagedCandidates(self.first, second, depth=depths[kind], rerank=rerank),
                task.queries,
                task.relevant,
                without=recipe.without,
                advance=progress.advance,
            )
            progress.stage(f"{kind} trees", 0)
            against = _compared_orders(data.signals, second.order_before_fusion(kind), rerank)
            learned = train_measured(data, recipe, stage=self.name, kind=kind, against=against)
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
            "members": components.upstream_fingerprints(self.to, self.index, self.name),
            **record,
            "notes": notes + record["notes"],
        }
        LearnedFusion.save_all(self.to / self.name, fusions, meta)
        progress.log(metrics, 0)
        return TrainedArtifact(
            self.to / self.name, metrics, {"seconds": time.monotonic() - self.began, **details}
        )

    def _task(self, kind: str, reserve: float, seed: int, *, is_reserved: bool) -> EvalTask:
        """A sample of the dev queries of a kind, from the reserved manuscripts or from the others.

        Raises:
            InputError: there are none.
        """
        task = tasks.build(self.corpus, kind, "dev")
        rows = np.flatnonzero(reserved_queries(task.papers, reserve, seed) == is_reserved)
        if not len(rows):
            raise InputError(f"no dev manuscript is left for {self.name}")
        return task.take(tasks.draw_sample(rows, self.recipe.queries, self.recipe.seed))


def _compared_orders(signals: Collection[str], before: str, rerank: int) -> list[str]:
    """The orders that a fusion's is compared with: the one before it, and for ``final`` the cross-encoder's.

    Args:
        signals: of the candidates.
        before: name of the order before the fusion.
        rerank: number of reranked candidates; 0: the fusion comes before the cross-encoder.
    """
    if not rerank:
        return [before]
    # The cross-encoder reranks the order of the last stage before it that there is.
    before = next(name for name in ("fusion", "nnrank", "first-stage") if f"{name}/gap" in signals)
    return [before, "cross-encoder"]
