"""``trees``: how the learned fusion's trees are grown, over signals that are computed once.

Each trial trains a LambdaMART on some of the trials' manuscripts and is measured on the others; the learning curve runs
over its trees. For the held-out comparison the trees are trained on all manuscripts of the trials, and measured on the
held-out ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cocite.atomic_files import write_atomic
from cocite.config import with_values
from cocite.corpus.csr import CSR
from cocite.errors import InputError
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import means
from cocite.manifests import read_manifest
from cocite.pipeline import components
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Ranking
from cocite.systems.learned_fusion.examples import relevance_labels, reserved_queries
from cocite.systems.learned_fusion.recipe import FusionRecipe, FusionSettings
from cocite.systems.learned_fusion.task import train_trees
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.studies.score_cache import save_arrays
from cocite_tuning.studies.score_study import ScoreStudy
from cocite_tuning.studies.study import ReportMetrics
from cocite_tuning.studies.trees_settings import TreesStudySettings
from cocite_tuning.studies.usage import MODEL, UsageCommands, train_command

if TYPE_CHECKING:
    import lightgbm

BLOCK = 256
"""Queries whose signals are computed together."""
STEP = 25
"""Trees between two points of the learning curve."""
TUNED = tuple(name for name in FusionSettings.model_fields if name not in ("seed", "threads"))
"""The settings of the trees that are tuned: all but seed and threads."""


class TreesStudy(ScoreStudy[TreesStudySettings]):
    """Tunes the settings of :class:`~cocite.systems.learned_fusion.recipe.FusionSettings`, save seed and threads.

    Example:
        >>> study = TreesStudy(TreesStudySettings(depth=100), Path("corpus"), Path("shared"))
        >>> sorted(study.parameter_types)[:3], study.in_process  # a trial trains, so it gets a process of its own
        (['bins', 'feature_share', 'l2'], False)
    """

    in_process: ClassVar[bool] = False

    @property
    def parameter_types(self) -> Mapping[str, Any]:
        """The settings of the trees."""
        fields = FusionSettings.model_fields
        return {name: Annotated[(fields[name].annotation, fields[name])] for name in TUNED}

    @property
    def _cache_settings(self) -> dict[str, Any]:
        return {"depth": self.settings.depth}

    def _fill_cache(self, folder: Path) -> DevQueries:
        dev = DevQueries(self.settings, self.corpus)
        first = dev.first_stage
        scored = self.settings.model is not None and "nnrank" in self.used_components
        nnrank = components.load_nnrank(self.settings.model, dev.index) if scored else None  # type: ignore[arg-type]
        second = SecondStage(dev.index, nnrank=nnrank)
        options = Options(depth=self.settings.depth, evidence=False)
        rows, tables, names = [], [], []
        for start in range(0, len(dev.task), BLOCK):
            queries = dev.task.queries[start : start + BLOCK]
            candidates = first.retrieve(queries, options)
            _, signals = second.score_all(queries, candidates)
            names = sorted(signals)
            rows.append(candidates.top.rows)
            tables.append(np.stack([signals[name] for name in names]))
        save_arrays(folder, {"rows": np.concatenate(rows), "signals": np.concatenate(tables, axis=1)})
        write_atomic(folder / "signals.json", json.dumps(names) + "\n")
        return dev

    def run(
        self,
        params: Mapping[str, Any],
        report: ReportMetrics,
        folder: Path,  # noqa: ARG002
    ) -> dict[str, float]:
        """The metrics on the manuscripts that the trees were not trained on; the curve has a point every 25 trees."""
        return means(self._train(self.parse_params(params), *self._shares, report), self.metrics)

    def _compute_hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        if queries.start == 0:
            return self._train(params, *self._shares)
        all_queries = np.arange(len(self.cited))
        return self._train(params, all_queries[: self.tuning_count], all_queries[queries])

    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:  # noqa: ARG002
        """The command that trains the fusion with these trees, and otherwise as the model folder's was trained."""
        settings, model = self.settings, self.settings.model
        recipe = FusionRecipe()
        if model is not None and "fusion" in self.used_components:
            known = read_manifest(model / "fusion").meta.get("recipe", {})
            recipe = FusionRecipe.parse(known, where=str(model / "fusion"))
        values: dict[str, Any] = {f"trees.{name}": value for name, value in self.parse_params(params).items()}
        values[f"{settings.task}_depth"] = settings.depth
        if settings.index is not None:
            values["index"] = str(settings.index)
        data = with_values(recipe.model_dump(mode="json"), values)
        note = f"The trees were tried on {settings.task} queries alone; both kinds get them."
        return UsageCommands((train_command("fusion", data, corpus, model or MODEL),), (note,))

    @cached_property
    def _shares(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of the trials' queries the trees are trained on, and which they are measured on."""
        papers = self._cache.array("citing")[: self.tuning_count]
        measured = reserved_queries(papers, 1 - self.settings.fit, self.settings.seed + 2)
        if measured.all() or not measured.any():
            raise InputError("there are too few manuscripts to learn from some and measure on others")
        return np.flatnonzero(~measured), np.flatnonzero(measured)

    def _train(
        self,
        params: Mapping[str, Any],
        trained: NDArray[np.int64],
        measured: NDArray[np.int64],
        report: ReportMetrics | None = None,
    ) -> Hits:
        """Train trees on some queries and rank the candidates of others."""
        settings = FusionSettings.parse(
            {"seed": self.settings.seed, "threads": self.settings.threads, **params}, where="trees"
        )
        names: list[str] = self._cache.json("signals.json")
        signals, rows = self._cache.array("signals"), self._cache.array("rows")
        _, cited = self.cited.gather(trained)
        ends = np.concatenate([[0], np.cumsum(self.cited.degrees[trained], dtype=np.int64)])
        known = {name: signals[i][trained] for i, name in enumerate(names)}
        ranking = Ranking(rows[trained], known["first-stage"])
        table = np.ascontiguousarray(np.moveaxis(signals[:, measured], 0, -1)).reshape(-1, len(names))
        scores = np.zeros(len(table))

        def after(booster: lightgbm.Booster, trees: int) -> None:
            # The scores grow by the trees since the last point: each tree predicts once.
            nonlocal scores
            if trees % STEP == 0 or trees == settings.trees:
                scored = (trees - 1) // STEP * STEP
                scores = scores + booster.predict(
                    table, start_iteration=scored, num_iteration=trees - scored, num_threads=settings.threads
                )
                if report is not None and trees < settings.trees:
                    report(means(self._rank(measured, scores), self.metrics), trees)

        train_trees(known, relevance_labels(ranking, ends, cited), settings, names=names, after=after)
        return self._rank(measured, scores)

    def _rank(self, queries: NDArray[np.int64], scores: NDArray[np.float64]) -> Hits:
        """The ranks of the cited papers of some queries by the scores (C,) of their candidates."""
        rows = self._cache.array("rows")[queries]
        values = scores.reshape(rows.shape).astype(np.float32)
        owner, cited = self.cited.gather(queries)
        relevant = CSR.build(owner, cited, len(queries))
        return Hits.of(Ranking(rows, values).rescored(values), relevant)
