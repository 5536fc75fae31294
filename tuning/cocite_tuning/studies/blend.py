"""``fusion``: the weights of the first stage's blend, over signals that are computed once.

The blend is a weighted sum of signals, each scaled to 1 for the query's best paper
(:class:`~cocite.pipeline.first_stage.FirstStage`), so a trial is one product of the weights with the cached signals of
the pooled papers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.evaluation.hits import Hits
from cocite.pipeline import components
from cocite.pipeline.dense_signals import DenseSignals
from cocite.pipeline.first_stage import CELLS
from cocite.pipeline.signals import Signals
from cocite.pipeline.weights import (
    GLOBAL_NEURAL_WEIGHTS,
    GLOBAL_WEIGHTS,
    LOCAL_WEIGHTS,
    Blend,
    KindWeights,
    weights_for,
)
from cocite.protocols import Query, Ranking
from cocite_tuning.studies.blend_settings import FusionStudySettings
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.studies.pools import Pool, concatenate, pool_papers
from cocite_tuning.studies.score_cache import save_arrays
from cocite_tuning.studies.score_study import ScoreStudy
from cocite_tuning.studies.usage import UsageCommands, command_line, retrain_commands

BLOCK = 32
"""Queries whose signals are computed together, at most."""
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class BlendStudy(ScoreStudy[FusionStudySettings]):
    """Tunes ``weights.SIGNAL``, each at least 0; a signal that is left out keeps its default weight.

    The defaults are those of the model folder's blend, if it has one for this task, and else the shipped ones.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> settings = FusionStudySettings(task="global", queries=20, signals=("whole>text", "whole>title"), pool=100)
        >>> with tempfile.TemporaryDirectory() as shared:
        ...     study = BlendStudy(settings, starter_corpus().path, Path(shared))
        ...     study.prepare()
        ...     study.hits({"weights.whole>title": 0.0}).depth
        100
        >>> sorted(study.parameter_types)
        ['weights.whole>text', 'weights.whole>title']
    """

    @property
    def parameter_types(self) -> Mapping[str, Any]:
        """A weight per signal."""
        return {f"weights.{name}": Weight for name in self.names}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The signals, in the order of the cached table."""
        if self.settings.signals:
            return tuple(dict.fromkeys(self.settings.signals))
        return weighed_signals(self._encoders, self.settings.task)

    @cached_property
    def defaults(self) -> dict[str, float]:
        """The default weights of the signals; 0 for a signal that the blend does not weigh."""
        current = weights_for(self._encoders, self._model_blend)[self.settings.task]
        return {name: current.get(name, 0.0) for name in self.names}

    @cached_property
    def _model_blend(self) -> Blend | None:
        """The blend of the model folder, if it has one."""
        return (
            components.load_blend(self.settings.model, self._encoders)
            if "blend" in self.used_components
            else None
        )

    @property
    def _encoders(self) -> list[str]:
        """The encoders among the used components."""
        return [name for name in self.used_components if name in components.ENCODERS]

    @property
    def _deepest_cutoff(self) -> int | None:
        return self.settings.pool

    @property
    def _cache_settings(self) -> dict[str, Any]:
        return {"signals": list(self.names), "pool": self.settings.pool}

    def _fill_cache(self, folder: Path) -> DevQueries:
        dev = DevQueries(self.settings, self.corpus)
        signals = Signals(dev.index, dev.encoders)
        step = int(np.clip(CELLS // max(len(dev.index), 1), 1, BLOCK))
        pools, tables = [], []
        for start in range(0, len(dev.task), step):
            part = dev.task.take(np.arange(start, min(start + step, len(dev.task))))
            block = DenseSignals(signals, part.queries)
            dense = [block.over_all(name) for name in self.names]
            rankings = [
                self._best(dev, scores, part.queries) for scores in [*dense, self._default_blend(dense)]
            ]
            pool = pool_papers(rankings, part.relevant)
            owners, rows = pool.pairs()
            pools.append(pool)
            tables.append(np.stack([scores[owners, rows] for scores in dense]))
        save_arrays(folder, {"signals": np.concatenate(tables, axis=1)})
        Pool.save(folder, "pool", concatenate(pools))
        return dev

    def _default_blend(self, dense: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """(Q, N) the blend with default weights; its best papers enter the pool even where no signal alone has them."""
        total = np.zeros_like(dense[0])
        for scores, weight in zip(dense, self.defaults.values(), strict=True):
            total += np.float32(weight) * scores
        return total

    def _best(self, dev: DevQueries, scores: NDArray[np.float32], queries: Sequence[Query]) -> Ranking:
        """The best papers of each query among those with a positive score."""
        allowed = dev.index.forbid(np.where(scores > 0, scores, np.float32(-np.inf)), queries)
        return Ranking.best(allowed, self.settings.pool)

    @cached_property
    def _pool(self) -> Pool:
        return Pool.load(self.folder, "pool", self.cited, self.settings.pool)

    @cached_property
    def _parts(self) -> dict[tuple[int, int], tuple[Pool, NDArray[np.float32]]]:
        """Results of :meth:`_part`, for a process runs many trials."""
        return {}

    def _part(self, queries: slice) -> tuple[Pool, NDArray[np.float32]]:
        """The pools of some queries, and the signals (S, C) of their cells."""
        key = (queries.start, queries.stop)
        if key not in self._parts:
            table = self._cache.array("signals")[:, self._pool.cells(queries)]
            self._parts[key] = self._pool.part(queries), np.ascontiguousarray(table)
        return self._parts[key]

    def export(self, params: Mapping[str, Any], folder: Path) -> None:
        """Write the artifact ``blend``; for the other task it keeps the weights of the model folder's blend."""
        weighing = KindWeights(
            encoders=tuple(self._encoders), weights=self._weights(self.parse_params(params))
        )
        kinds = {**(self._model_blend.kinds if self._model_blend else {}), self.settings.task: weighing}
        meta = {"corpus": self._cache_meta["corpus"], "study": self.settings.model_dump(mode="json")}
        Blend.parse(kinds).save(folder / "blend", meta)

    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:  # noqa: ARG002
        """The commands that copy the artifact into the model folder, or serve it alone where there is none."""
        model = self.settings.model
        if model is None:
            serve = command_line("cocite", "serve", "--index", self._index_folder, "--model", best)
            return UsageCommands((serve,), tuple(self._index_notes))
        copy = command_line("cp", "-r", best / "blend", f"{model}/")
        retrain = retrain_commands(model, self.used_components, corpus, self.settings.index)
        serve = command_line("cocite", "serve", "--index", self._index_folder, "--model", model)
        notes, left_out = self._index_notes, [n for n in self.settings.without if n in components.ENCODERS]
        if left_out:
            notes.append(
                f"The weights were found without {', '.join(left_out)}: beside what they were found without they are "
                "refused, so remove it from the model folder."
            )
        return UsageCommands((copy, *retrain, serve), tuple(notes))

    def _weights(self, params: Mapping[str, Any]) -> dict[str, float]:
        return self.defaults | {name.removeprefix("weights."): value for name, value in params.items()}

    def _compute_hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        weights = self._weights(params)
        pool, table = self._part(queries)
        return pool.hits(np.array(list(weights.values()), np.float32) @ table)


def weighed_signals(encoders: Sequence[str], task: str) -> tuple[str, ...]:
    """The signals that a shipped blend weighs for a task, without those of absent encoders."""
    weights = LOCAL_WEIGHTS if task == "local" else {**GLOBAL_WEIGHTS, **GLOBAL_NEURAL_WEIGHTS}
    return tuple(
        name
        for name in weights
        if name.partition(":")[0] not in components.ENCODERS or name.partition(":")[0] in encoders
    )
