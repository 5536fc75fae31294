"""``fusion``: the weights of the first stage's blend, over signals that were computed once.

The blend is a weighted sum of signals, each scaled to 1 for the query's best paper
(:class:`~cocite.pipeline.first_stage.FirstStage`), so a trial is one product of the weights with the kept signals of
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
from cocite_tuning.studies.pools import Pool, joined, pooled
from cocite_tuning.studies.score_study import DevQueries, ScoreStudy, save
from cocite_tuning.studies.settings import FusionStudySettings
from cocite_tuning.studies.usage import Locations, Usage, command, retraining

BLOCK = 32
"""Queries whose signals are computed together, at most."""
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class BlendStudy(ScoreStudy[FusionStudySettings]):
    """Parameters: ``weights.SIGNAL``, at least 0; one that is left out keeps its weight.

    That is the one of the model folder's blend, if it has one for this kind of query, and else the shipped one.
    """

    @property
    def keys(self) -> Mapping[str, Any]:
        """A weight for each signal."""
        return {f"weights.{name}": Weight for name in self.names}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The signals, in the order of the kept table."""
        if self.settings.signals:
            return tuple(dict.fromkeys(self.settings.signals))
        return signals_of(self._encoders, self.settings.task)

    @cached_property
    def defaults(self) -> dict[str, float]:
        """The weights of the signals as they are; 0 where the blend has none."""
        present = weights_for(self._encoders, self._present)[self.settings.task]
        return {name: present.get(name, 0.0) for name in self.names}

    @cached_property
    def _present(self) -> Blend | None:
        """The blend that the model folder has."""
        return components.load_blend(self.settings.model, self._encoders) if "blend" in self.members else None

    @property
    def _encoders(self) -> list[str]:
        """The encoders among the members that are used."""
        return [name for name in self.members if name in components.ENCODERS]

    @property
    def _limit(self) -> int | None:
        return self.settings.pool

    @property
    def _identity(self) -> dict[str, Any]:
        return {"signals": list(self.names), "pool": self.settings.pool}

    def _make(self, folder: Path) -> DevQueries:
        dev = DevQueries(self.settings, self.corpus)
        signals = Signals(dev.index, dev.encoders)
        step = int(np.clip(CELLS // max(len(dev.index), 1), 1, BLOCK))
        pools, tables = [], []
        for start in range(0, len(dev.task), step):
            part = dev.task.take(np.arange(start, min(start + step, len(dev.task))))
            block = signals.of(part.queries)
            dense = [block.over_all(name) for name in self.names]
            rankings = [self._best(dev, scores, part.queries) for scores in [*dense, self._blend(dense)]]
            pool = pooled(rankings, part.relevant)
            owners, rows = pool.pairs()
            pools.append(pool)
            tables.append(np.stack([scores[owners, rows] for scores in dense]))
        save(folder, {"signals": np.concatenate(tables, axis=1)})
        Pool.keep(folder, "pool", joined(pools))
        return dev

    def _blend(self, dense: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """(Q, N) the blend as it is, whose best are kept whatever each signal says of them alone."""
        total = np.zeros_like(dense[0])
        for scores, weight in zip(dense, self.defaults.values(), strict=True):
            total += np.float32(weight) * scores
        return total

    def _best(self, dev: DevQueries, scores: NDArray[np.float32], queries: Sequence[Query]) -> Ranking:
        """The best papers of each query that anything speaks for."""
        allowed = dev.index.forbid(np.where(scores > 0, scores, np.float32(-np.inf)), queries)
        return Ranking.best(allowed, self.settings.pool)

    @cached_property
    def _pool(self) -> Pool:
        return Pool.load(self.folder, "pool", self.cited, self.settings.pool)

    @cached_property
    def _parts(self) -> dict[tuple[int, int], tuple[Pool, NDArray[np.float32]]]:
        """The pools and signals of the trials' queries and of the others, as they are asked for."""
        return {}

    def _part(self, queries: slice) -> tuple[Pool, NDArray[np.float32]]:
        key = (queries.start, queries.stop)
        if key not in self._parts:
            table = self._array("signals")[:, self._pool.cells(queries)]
            self._parts[key] = self._pool.part(queries), np.ascontiguousarray(table)
        return self._parts[key]

    def leave(self, params: Mapping[str, Any], best: Path) -> None:
        """The artifact ``blend``; the weights for the other kind of query are those of the model folder's blend."""
        found = KindWeights(encoders=tuple(self._encoders), weights=self._weights(self.checked(params)))
        kinds = {**(self._present.kinds if self._present else {}), self.settings.task: found}
        meta = {"corpus": self._meta["corpus"], "study": self.settings.model_dump(mode="json")}
        Blend.parse(kinds).save(best / "blend", meta)

    def usage(self, params: Mapping[str, Any], place: Locations) -> Usage:  # noqa: ARG002
        """The artifact goes into the model folder; without one, its folder is one."""
        model = self.settings.model
        if model is None:
            serve = command("cocite", "serve", "--index", self._index, "--model", place.best)
            return Usage((serve,), tuple(self._stands_for))
        copy = command("cp", "-r", place.best / "blend", f"{model}/")
        again = retraining(model, self.members, place.corpus, self.settings.index)
        serve = command("cocite", "serve", "--index", self._index, "--model", model)
        notes, apart = self._stands_for, [n for n in self.settings.without if n in components.ENCODERS]
        if apart:
            notes.append(
                f"The weights were found without {', '.join(apart)}: beside what they were found without they are "
                "refused, so remove it from the model folder."
            )
        return Usage((copy, *again, serve), tuple(notes))

    def _weights(self, params: Mapping[str, Any]) -> dict[str, float]:
        return self.defaults | {name.removeprefix("weights."): value for name, value in params.items()}

    def _hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        weights = self._weights(params)
        pool, table = self._part(queries)
        return pool.hits(np.array(list(weights.values()), np.float32) @ table)


def signals_of(encoders: Sequence[str], task: str) -> tuple[str, ...]:
    """The signals that a shipped blend weighs for a kind of query, without those of absent encoders."""
    weighed = LOCAL_WEIGHTS if task == "local" else {**GLOBAL_WEIGHTS, **GLOBAL_NEURAL_WEIGHTS}
    return tuple(
        name
        for name in weighed
        if name.partition(":")[0] not in components.ENCODERS or name.partition(":")[0] in encoders
    )
