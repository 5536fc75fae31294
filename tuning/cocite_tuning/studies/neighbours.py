"""``neighbours``: Citeomatic's K (Bhagavatula et al., 2018, Table 4): neighbours of NNSelect, and what they cite.

The candidates of the greatest K hold those of every smaller one: each is kept with the K at which it becomes a
neighbour and the K at which a neighbour cites it. A trial leaves out what comes later, and orders the rest by kept
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
from cocite.manifests import read_json
from cocite.pipeline import components
from cocite.protocols import NO_ROW, Encoder, Reranker
from cocite_tuning.run.trials import LATENCY
from cocite_tuning.studies.latency import Call, milliseconds
from cocite_tuning.studies.pools import Pool, joined, pooled
from cocite_tuning.studies.score_study import DevQueries, ScoreStudy, one_of, save
from cocite_tuning.studies.settings import NeighboursStudySettings
from cocite_tuning.studies.usage import Locations, Usage

BLOCK = 64
"""Queries scored together."""
NEVER = np.iinfo(np.int32).max
"""The K of what is no candidate at any K."""
ANSWERED = 100
"""Papers that a timed query asks for."""


class NeighboursStudy(ScoreStudy[NeighboursStudySettings]):
    """Parameters: ``neighbours``; ``expansion``, by default true; with NNRank ``nnrank``, by default true.

    K that is left out is 100, or the greatest there is.
    """

    @property
    def keys(self) -> Mapping[str, Any]:
        """Those that the model folder has the parts for."""
        keys: dict[str, Any] = {"neighbours": one_of(self.settings.neighbours), "expansion": bool}
        return keys | ({"nnrank": bool} if "nnrank" in self.members else {})

    @property
    def _identity(self) -> dict[str, Any]:
        return {"neighbours": list(self.settings.neighbours), "timed": self.settings.timed}

    def _make(self, folder: Path) -> DevQueries:
        model = self.settings.model
        if model is None or "nnselect" not in self.members:
            raise InputError("holds no nnselect, whose neighbours are counted", where=str(model))
        dev = DevQueries(self.settings, self.corpus)
        encoder = next(encoder for encoder in dev.encoders if encoder.name == "nnselect")
        nnrank = components.load_nnrank(model, dev.index) if "nnrank" in self.members else None
        widest = CiteomaticRanker(dev.index, encoder, neighbours=self.settings.neighbours[-1])
        parts = [
            self._block(dev, widest, nnrank, start, min(start + BLOCK, len(dev.task)))
            for start in range(0, len(dev.task), BLOCK)
        ]
        Pool.keep(folder, "pool", joined([pool for pool, _ in parts]))
        save(folder, {name: np.concatenate([arrays[name] for _, arrays in parts]) for name in parts[0][1]})
        times = self._times(dev, encoder, nnrank)
        write_atomic(folder / "times.json", json.dumps(times, indent=1) + "\n")
        return dev

    def _block(
        self, dev: DevQueries, widest: CiteomaticRanker, nnrank: Reranker | None, start: int, stop: int
    ) -> tuple[CSR, dict[str, NDArray[Any]]]:
        """The pools of some queries; of each cell when it becomes a candidate, and its scores."""
        part = dev.task.take(np.arange(start, stop))
        found = widest.retriever.search(part.queries, widest.neighbours)
        candidates = widest.candidates(part.queries)
        pool = pooled([candidates], part.relevant)
        owners, rows = pool.pairs()
        width = len(dev.index)
        keys = owners * np.int64(width) + rows
        query, slot = np.nonzero(found.rows != NO_ROW)
        owner, cited = dev.index.history.cites.gather(found.rows[query, slot])
        arrays: dict[str, NDArray[Any]] = {
            "near": _first(keys, query * np.int64(width) + found.rows[query, slot], slot + 1),
            "cited": _first(keys, query[owner] * np.int64(width) + cited, slot[owner] + 1),
        }
        scores = {"cosine": candidates.scores}
        if nnrank is not None:
            scores["nnrank"] = nnrank.score(part.queries, candidates)
        query, slot = np.nonzero(candidates.rows != NO_ROW)
        place = np.searchsorted(keys, query * np.int64(width) + candidates.rows[query, slot])
        for name, values in scores.items():
            arrays[name] = np.full(len(keys), -np.inf, np.float32)
            arrays[name][place] = values[query, slot]
        return pool, arrays

    def _times(self, dev: DevQueries, encoder: Encoder, nnrank: Reranker | None) -> dict[str, float]:
        """Milliseconds of a query by K, expansion and order."""
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
                    calls[_named(count, expansion, ranked)] = partial(ranker.rank, k=ANSWERED)
        return milliseconds(calls, queries)

    def _choice(self, params: Mapping[str, Any]) -> tuple[int, bool, bool]:
        usual = 100 if 100 in self.settings.neighbours else self.settings.neighbours[-1]
        ranked = bool(params.get("nnrank", "nnrank" in self.members))
        return int(params.get("neighbours", usual)), bool(params.get("expansion", True)), ranked

    def usage(self, params: Mapping[str, Any], place: Locations) -> Usage:  # noqa: ARG002
        """No command takes K: a call does."""
        count, expansion, ranked = self._choice(params)
        call = f"CiteomaticRanker(index, encoder, {'nnrank' if ranked else None}, neighbours={count}, {expansion=})"
        note = (
            "No command takes Citeomatic's K: cocite rank --pipeline nnrank has 100 neighbours and what they cite. "
            f"In Python it is cocite.evaluation.citeomatic.{call}."
        )
        return Usage(notes=(note,))

    def _hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        count, expansion, ranked = self._choice(params)
        whole = Pool.load(self.folder, "pool", self.cited, NEVER)
        cells = whole.cells(queries)
        candidate = self._array("near")[cells] <= count
        if expansion:
            candidate |= self._array("cited")[cells] <= count
        scores = self._array("nnrank" if ranked else "cosine")[cells]
        # What is excluded, the query's own paper above all, has no score.
        return whole.part(queries).hits(scores, candidate & ~np.isneginf(scores))

    def _more(self, params: Mapping[str, Any]) -> dict[str, float]:
        return {LATENCY: self._times_kept[_named(*self._choice(params))]}

    @cached_property
    def _times_kept(self) -> dict[str, float]:
        assert self._manifest
        times: dict[str, float] = read_json(self.folder / "times.json")
        return times


def _named(count: int, expansion: bool, ranked: bool) -> str:
    return f"{count}{' expanded' if expansion else ''}{' nnrank' if ranked else ''}"


def _first(keys: NDArray[np.int64], found: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.int32]:
    """For each of ascending ``keys`` the least ``at`` whose ``found`` equals it; ``NEVER`` where there is none."""
    result = np.full(len(keys), NEVER, np.int32)
    place = np.minimum(np.searchsorted(keys, found), max(len(keys) - 1, 0))
    known = keys[place] == found
    np.minimum.at(result, place[known], at[known].astype(np.int32))
    return result
