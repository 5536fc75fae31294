"""``neighbours``: Citeomatic's K (Bhagavatula et al., 2018, Table 4): neighbours of NNSelect, and what they cite.

The candidates of the greatest K include those of every smaller one: the cache holds each with the K at which it becomes
a neighbour and the K at which a neighbour cites it. A trial drops those of a greater K, and orders the others by cached
scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.atomic_files import write_atomic
from cocite.corpus.csr import CSR
from cocite.errors import InputError
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.evaluation.hits import Hits
from cocite.pipeline import components
from cocite.protocols import NO_ROW, Encoder, Reranker
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.studies.latency import Call, median_milliseconds
from cocite_tuning.studies.neighbours_settings import NeighboursStudySettings
from cocite_tuning.studies.pools import Pool, concatenate, pool_papers
from cocite_tuning.studies.score_cache import save_arrays
from cocite_tuning.studies.score_study import ScoreStudy, literal_of
from cocite_tuning.studies.usage import UsageCommands
from cocite_tuning.sweep.trials import LATENCY

BLOCK = 64
"""Queries scored together."""
NEVER = np.iinfo(np.int32).max
"""The K of a paper that is no candidate at any K."""
TIMED_K = 100
"""Papers that a timed query asks for."""


class NeighboursStudy(ScoreStudy[NeighboursStudySettings]):
    """Tunes ``neighbours``, ``expansion`` and, with NNRank, ``nnrank``.

    The defaults are 100 neighbours, or the greatest K that can be chosen, expansion, and NNRank's order.

    Example:
        >>> settings = NeighboursStudySettings(model=None, neighbours=(5, 20))
        >>> study = NeighboursStudy(settings, Path("corpus"), Path("shared"))
        >>> study.parameter_types["neighbours"]  # without NNRank there is no choice of the order
        typing.Literal[5, 20]
        >>> study.usage({"neighbours": 5}, "corpus", Path("best")).notes[0][-69:]
        'CiteomaticRanker(index, encoder, None, neighbours=5, expansion=True).'
    """

    @property
    def parameter_types(self) -> Mapping[str, Any]:
        """The parameters whose parts the model folder has."""
        types: dict[str, Any] = {"neighbours": literal_of(self.settings.neighbours), "expansion": bool}
        return types | ({"nnrank": bool} if "nnrank" in self.used_components else {})

    @property
    def _cache_settings(self) -> dict[str, Any]:
        return {"neighbours": list(self.settings.neighbours), "timed": self.settings.timed}

    def _fill_cache(self, folder: Path) -> DevQueries:
        model = self.settings.model
        if model is None or "nnselect" not in self.used_components:
            raise InputError("holds no nnselect, whose neighbours are counted", where=str(model))
        dev = DevQueries(self.settings, self.corpus)
        encoder = next(encoder for encoder in dev.encoders if encoder.name == "nnselect")
        nnrank = components.load_nnrank(model, dev.index) if "nnrank" in self.used_components else None
        widest = CiteomaticRanker(dev.index, encoder, neighbours=self.settings.neighbours[-1])
        parts = [
            self._block(dev, widest, nnrank, start, min(start + BLOCK, len(dev.task)))
            for start in range(0, len(dev.task), BLOCK)
        ]
        Pool.save(folder, "pool", concatenate([pool for pool, _ in parts]))
        save_arrays(
            folder, {name: np.concatenate([arrays[name] for _, arrays in parts]) for name in parts[0][1]}
        )
        times = self._times(dev, encoder, nnrank)
        write_atomic(folder / "times.json", json.dumps(times, indent=1) + "\n")
        return dev

    def _block(
        self, dev: DevQueries, widest: CiteomaticRanker, nnrank: Reranker | None, start: int, stop: int
    ) -> tuple[CSR, dict[str, NDArray[Any]]]:
        """The pools of some queries, and for each cell the K at which it becomes a candidate, and its scores."""
        part = dev.task.take(np.arange(start, stop))
        nearest = widest.retriever.search(part.queries, widest.neighbours)
        candidates = widest.candidates(part.queries)
        pool = pool_papers([candidates], part.relevant)
        owners, rows = pool.pairs()
        width = len(dev.index)
        keys = owners * np.int64(width) + rows
        query, slot = np.nonzero(nearest.rows != NO_ROW)
        owner, cited = dev.index.history.cites.gather(nearest.rows[query, slot])
        arrays: dict[str, NDArray[Any]] = {
            "near": _least_k(keys, query * np.int64(width) + nearest.rows[query, slot], slot + 1),
            "cited": _least_k(keys, query[owner] * np.int64(width) + cited, slot[owner] + 1),
        }
        scores = {"cosine": candidates.scores}
        if nnrank is not None:
            scores["nnrank"] = nnrank.score(part.queries, candidates)
        query, slot = np.nonzero(candidates.rows != NO_ROW)
        position = np.searchsorted(keys, query * np.int64(width) + candidates.rows[query, slot])
        for name, values in scores.items():
            arrays[name] = np.full(len(keys), -np.inf, np.float32)
            arrays[name][position] = values[query, slot]
        return pool, arrays

    def _times(self, dev: DevQueries, encoder: Encoder, nnrank: Reranker | None) -> dict[str, float]:
        """Milliseconds per query by K, expansion and order."""
        queries = dev.task.queries[: self.settings.timed]
        calls: dict[str, Call] = {}
        for ranked in (False, True) if nnrank is not None else (False,):
            for expansion in (False, True):
                for count in self.settings.neighbours:
                    ranker = CiteomaticRanker(
                        dev.index,
                        encoder,
                        nnrank if ranked else None,
                        neighbours=count,
                        expansion=expansion,
                    )
                    calls[_time_key(count, expansion, ranked)] = partial(ranker.rank, k=TIMED_K)
        return median_milliseconds(calls, queries)

    def _choice(self, params: Mapping[str, Any]) -> tuple[int, bool, bool]:
        """K, whether the candidates are expanded, and whether NNRank orders them."""
        default = 100 if 100 in self.settings.neighbours else self.settings.neighbours[-1]
        ranked = bool(params.get("nnrank", "nnrank" in self.used_components))
        return int(params.get("neighbours", default)), bool(params.get("expansion", True)), ranked

    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:  # noqa: ARG002
        """A note with a call in Python: no command has an option for Citeomatic's K."""
        count, expansion, ranked = self._choice(params)
        call = f"CiteomaticRanker(index, encoder, {'nnrank' if ranked else None}, neighbours={count}, {expansion=})"
        note = (
            "No command takes Citeomatic's K: cocite rank --pipeline nnrank takes as many as NNRank was trained with. "
            f"In Python it is cocite.evaluation.citeomatic.{call}."
        )
        return UsageCommands(notes=(note,))

    def _compute_hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        count, expansion, ranked = self._choice(params)
        whole = Pool.load(self.folder, "pool", self.cited, NEVER)
        cells = whole.cells(queries)
        candidate = self._cache.array("near")[cells] <= count
        if expansion:
            candidate |= self._cache.array("cited")[cells] <= count
        scores = self._cache.array("nnrank" if ranked else "cosine")[cells]
        # Excluded papers, such as the query's own, have no score.
        return whole.part(queries).hits(scores, candidate & ~np.isneginf(scores))

    extra_metric_names = (LATENCY,)

    def _extra_metrics(self, params: Mapping[str, Any]) -> dict[str, float]:
        return {LATENCY: self._cached_times[_time_key(*self._choice(params))]}

    @cached_property
    def _cached_times(self) -> dict[str, float]:
        times: dict[str, float] = self._cache.json("times.json")
        return times


def _time_key(count: int, expansion: bool, ranked: bool) -> str:
    return f"{count}{' expanded' if expansion else ''}{' nnrank' if ranked else ''}"


def _least_k(keys: NDArray[np.int64], found: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.int32]:
    """The least ``k`` at which each of the ascending ``keys`` is among ``found``; ``NEVER`` where it is not."""
    result = np.full(len(keys), NEVER, np.int32)
    position = np.minimum(np.searchsorted(keys, found), max(len(keys) - 1, 0))
    known = keys[position] == found
    # A paper may be cited by several neighbours: plain indexing would keep the last one's K, not the least.
    np.minimum.at(result, position[known], k[known].astype(np.int32))
    return result
