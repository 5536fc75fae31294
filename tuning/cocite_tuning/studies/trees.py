"""``trees``: how the learned fusion's trees are grown, over signals that were computed once.

Each trial trains a LambdaMART on some of the trials' manuscripts and is measured on the others; the learning curve runs
over its trees. What is confirmed is trained on all manuscripts of the trials, and measured on those that none saw.
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
from cocite.manifests import read_json, read_manifest
from cocite.pipeline import components
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Ranking
from cocite.systems.learned_fusion.examples import relevance_labels, reserved_queries
from cocite.systems.learned_fusion.recipe import FusionRecipe, FusionSettings
from cocite.systems.learned_fusion.task import train_trees
from cocite_tuning.studies.score_study import DevQueries, ScoreStudy, save
from cocite_tuning.studies.settings import TreesStudySettings
from cocite_tuning.studies.study import Report
from cocite_tuning.studies.usage import MODEL, Locations, Usage, training

if TYPE_CHECKING:
    import lightgbm

BLOCK = 256
"""Queries whose signals are computed together."""
STEP = 25
"""Trees between two points of the learning curve."""
TUNED = tuple(name for name in FusionSettings.model_fields if name not in ("seed", "threads"))
"""Settings of the trees that are parameters; seed and threads are not."""


class TreesStudy(ScoreStudy[TreesStudySettings]):
    """Parameters: those of :class:`~cocite.systems.learned_fusion.reranker.FusionSettings` but ``seed`` and
    ``threads``."""

    light: ClassVar[bool] = False

    @property
    def keys(self) -> Mapping[str, Any]:
        """The settings of the trees."""
        fields = FusionSettings.model_fields
        return {name: Annotated[(fields[name].annotation, fields[name])] for name in TUNED}

    @property
    def _identity(self) -> dict[str, Any]:
        return {"depth": self.settings.depth}

    def _make(self, folder: Path) -> DevQueries:
        dev = DevQueries(self.settings, self.corpus)
        first = dev.first
        scored = self.settings.model is not None and "nnrank" in self.members
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
        papers = np.array([query.paper for query in dev.task.queries], np.int32)
        save(
            folder,
            {"rows": np.concatenate(rows), "signals": np.concatenate(tables, axis=1), "papers": papers},
        )
        write_atomic(folder / "signals.json", json.dumps(names) + "\n")
        return dev

    def run(self, params: Mapping[str, Any], report: Report, folder: Path) -> dict[str, float]:  # noqa: ARG002
        """The metrics on the manuscripts that the trial's trees were not grown on; the curve has a point every 25."""
        return means(self._grown(self.checked(params), *self._shares, report), self.metrics)

    def _hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        if queries.start == 0:
            return self._grown(params, *self._shares)
        everything = np.arange(len(self.cited))
        return self._grown(params, everything[: self.tuning], everything[queries])

    def usage(self, params: Mapping[str, Any], place: Locations) -> Usage:
        """A training of the fusion with these trees, of what the model folder's own was trained with besides."""
        settings, model = self.settings, self.settings.model
        recipe = FusionRecipe()
        if model is not None and "fusion" in self.members:
            known = read_manifest(model / "fusion").meta.get("recipe", {})
            recipe = FusionRecipe.parse(known, where=str(model / "fusion"))
        values: dict[str, Any] = {f"trees.{name}": value for name, value in self.checked(params).items()}
        values[f"{settings.task}_depth"] = settings.depth
        if settings.index is not None:
            values["index"] = str(settings.index)
        data = with_values(recipe.model_dump(mode="json"), values)
        note = f"The trees were tried on {settings.task} queries alone; both kinds get them."
        return Usage((training("fusion", data, place.corpus, model or MODEL),), (note,))

    @cached_property
    def _shares(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of the trials' queries are learned from, and which are measured."""
        apart = reserved_queries(
            self._array("papers")[: self.tuning], 1 - self.settings.fit, self.settings.seed + 2
        )
        if apart.all() or not apart.any():
            raise InputError("there are too few manuscripts to learn from some and measure on others")
        return np.flatnonzero(~apart), np.flatnonzero(apart)

    def _grown(
        self,
        params: Mapping[str, Any],
        learned: NDArray[np.int64],
        measured: NDArray[np.int64],
        report: Report | None = None,
    ) -> Hits:
        """Train on some queries and rank the candidates of others."""
        settings = FusionSettings.parse(
            {"seed": self.settings.seed, "threads": self.settings.threads, **params}, where="trees"
        )
        names: list[str] = read_json(self.folder / "signals.json")
        signals, rows = self._array("signals"), self._array("rows")
        _, cited = self.cited.gather(learned)
        ends = np.concatenate([[0], np.cumsum(self.cited.degrees[learned], dtype=np.int64)])
        taught = {name: signals[i][learned] for i, name in enumerate(names)}
        found = Ranking(rows[learned], taught["first-stage"])
        table = np.ascontiguousarray(np.moveaxis(signals[:, measured], 0, -1)).reshape(-1, len(names))
        scores = np.zeros(len(table))

        def after(booster: lightgbm.Booster, trees: int) -> None:
            nonlocal scores
            if trees % STEP == 0 or trees == settings.trees:
                done = (trees - 1) // STEP * STEP
                scores = scores + booster.predict(
                    table, start_iteration=done, num_iteration=trees - done, num_threads=settings.threads
                )
                if report is not None and trees < settings.trees:
                    report(means(self._ranked(measured, scores), self.metrics), trees)

        train_trees(taught, relevance_labels(found, ends, cited), settings, names=names, after=after)
        return self._ranked(measured, scores)

    def _ranked(self, queries: NDArray[np.int64], scores: NDArray[np.float64]) -> Hits:
        """Where the cited papers of some queries stand by the scores of their candidates."""
        rows = self._array("rows")[queries]
        values = scores.reshape(rows.shape).astype(np.float32)
        owner, cited = self.cited.gather(queries)
        relevant = CSR.build(owner, cited, len(queries))
        return Hits.of(Ranking(rows, values).rescored(values), relevant)
