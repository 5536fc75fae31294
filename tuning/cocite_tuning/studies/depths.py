"""``depths``: how many candidates each stage gets, quality against latency.

K of the first stage (``Options.depth``), K that the cross-encoder reads (``Options.rerank``), and what its score counts
(``Options.cross_weight``). The first stage, NNRank and the learned fusion say the same of a candidate whatever K is,
and so does the cross-encoder: each is asked once, at the greatest K, and a trial only orders. Quality is measured on
dev manuscripts that the learned fusion did not see; latency one query at a time, at every K that can be chosen, so no
time is interpolated.

The final fusion is left out: it is trained on the very manuscripts that the fusion leaves, so that no dev query is new
to both. ``cross_weight`` stands in for it, as it does where a model folder has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.atomic_files import write_atomic
from cocite.errors import InputError
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import Metric
from cocite.manifests import read_json
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.top_candidates import TopCandidates, combine_standardised
from cocite.protocols import NO_ROW, Ranking
from cocite_tuning.run.trials import LATENCY
from cocite_tuning.studies.latency import Call, milliseconds
from cocite_tuning.studies.pools import consecutive
from cocite_tuning.studies.score_study import DevQueries, ScoreStudy, one_of, save
from cocite_tuning.studies.settings import DepthsStudySettings
from cocite_tuning.studies.usage import Locations, Usage, command, setting

BLOCK = 64
"""Queries scored together."""
CROSS_REPEATS = 2
"""How often the cross-encoder's time is taken: it is seconds, and varies less."""


class DepthsStudy(ScoreStudy[DepthsStudySettings]):
    """Parameters: ``depth``, and with a cross-encoder ``rerank`` and ``cross_weight``.

    What is left out is as :class:`~cocite.pipeline.options.Options` has it, or the greatest there is.
    """

    @property
    def keys(self) -> Mapping[str, Any]:
        """Those that the model folder has the parts for."""
        keys: dict[str, Any] = {"depth": one_of(self.settings.depths)}
        if self._crosses:
            keys["rerank"] = one_of(self.settings.reranks)
            keys["cross_weight"] = Annotated[float, Field(ge=0, le=1)]
        return keys

    @property
    def _crosses(self) -> bool:
        return "cross-encoder" in self.members and max(self.settings.reranks) > 0

    @property
    def _identity(self) -> dict[str, Any]:
        settings = self.settings
        reranks = list(settings.reranks) if self._crosses else []
        return {"depths": list(settings.depths), "reranks": reranks, "timed": settings.timed}

    # -- scoring ---------------------------------------------------------------------------------------------

    def _make(self, folder: Path) -> DevQueries:
        dev = DevQueries(self.settings, self.corpus, unseen="fusion" in self.members)
        first, second = dev.first, self._second(dev)
        deepest = Options(depth=self.settings.depths[-1], evidence=False)
        rows, before, cross = [], [], []
        for start in range(0, len(dev.task), BLOCK):
            queries = dev.task.queries[start : start + BLOCK]
            candidates = first.retrieve(queries, deepest)
            scores, _ = second.score_all(queries, candidates)
            rows.append(candidates.top.rows)
            before.append(next(reversed(scores.values())))
            if self._crosses:
                assert second.cross_encoder is not None
                asked = self._read(rows[-1], before[-1])
                read = second.cross_encoder.score(queries, asked.ranking)
                cross.append(asked.scatter(np.where(asked.ranking.rows == NO_ROW, np.nan, read)))
        arrays: dict[str, NDArray[Any]] = {"rows": np.concatenate(rows), "before": np.concatenate(before)}
        if cross:
            arrays["cross"] = np.concatenate(cross)
        save(folder, arrays)
        times = self._times(dev, first, second)
        write_atomic(folder / "times.json", json.dumps(times, indent=1) + "\n")
        return dev

    def _second(self, dev: DevQueries) -> SecondStage:
        model = self.settings.model
        if model is None:
            return SecondStage(dev.index)
        second = SecondStage(
            dev.index,
            nnrank=components.load_nnrank(model, dev.index) if "nnrank" in self.members else None,
            nnrank_orders=components.ordered_kinds(model, "nnrank"),
            fusions=components.load_fusions(model, dev.index, "fusion") if "fusion" in self.members else None,
            cross_encoder=components.load_cross_encoder(model, dev.index) if self._crosses else None,
        )
        if self._crosses and not second.uses_cross_encoder(self.settings.task):
            raise InputError(
                f"this cross-encoder was not made for {self.settings.task} queries",
                where=str(model / "cross-encoder"),
                hint="leave it out: without=[cross-encoder]",
            )
        return second

    def _read(self, rows: NDArray[np.int32], before: NDArray[np.float32]) -> TopCandidates:
        """The candidates that the cross-encoder reads under some choice: the best of the first K, for every K."""
        read = np.zeros(rows.shape, bool)
        for depth in self.settings.depths:
            best = TopCandidates.select(rows[:, :depth], before[:, :depth], self.settings.reranks[-1])
            np.put_along_axis(read, best.columns, True, 1)
        read &= rows != NO_ROW
        places = np.argsort(~read, axis=1, kind="stable")[:, : int(read.sum(axis=1).max(initial=0))]
        chosen = np.where(np.take_along_axis(read, places, 1), np.take_along_axis(rows, places, 1), NO_ROW)
        ranking = Ranking(chosen.astype(np.int32), np.zeros(chosen.shape, np.float32))
        return TopCandidates(places, ranking, rows.shape[1])

    def _times(self, dev: DevQueries, first: FirstStage, second: SecondStage) -> dict[str, dict[str, float]]:
        """Milliseconds by stage and K."""
        queries = dev.task.queries[: self.settings.timed]
        options = {depth: Options(depth=depth, evidence=False) for depth in self.settings.depths}
        found = {
            depth: {query.id: first.retrieve([query], options[depth]) for query in queries}
            for depth in options
        }

        def retrieve(depth: int) -> Call:
            return lambda one: first.retrieve(one, options[depth])

        def fuse(depth: int) -> Call:
            return lambda one: second.score_all(one, found[depth][one[0].id])

        times = {
            "first": milliseconds({str(depth): retrieve(depth) for depth in options}, queries),
            "second": milliseconds({str(depth): fuse(depth) for depth in options}, queries),
        }
        if second.cross_encoder is not None:
            reader, widest = second.cross_encoder, found[self.settings.depths[-1]]

            def read(rerank: int) -> Call:
                return lambda one: reader.score(one, widest[one[0].id].ranking.top(rerank))

            counts = {min(rerank, depth) for rerank in self.settings.reranks for depth in options} - {0}
            calls = {str(count): read(count) for count in sorted(counts)}
            times["cross"] = milliseconds(calls, queries, repeats=CROSS_REPEATS)
        return times

    def usage(self, params: Mapping[str, Any], place: Locations) -> Usage:  # noqa: ARG002
        """The endpoint with these K."""
        depth, rerank = self._choice(params)
        given = [setting("depth", depth)]
        model = self.settings.model
        if model is not None and (model / "cross-encoder").is_dir():
            given.append(setting("rerank", rerank))
        if "cross_weight" in params:
            given.append(setting("cross_weight", params["cross_weight"]))
        words = [word for each in given for word in ("--set", each)]
        serve = command("cocite", "serve", "--index", self._index, *self._model, *words)
        notes = self._stands_for
        if "final" in self.members:
            notes.append("The final fusion was left out here; the endpoint orders what was read by it.")
        return Usage((serve,), tuple(notes))

    # -- a trial ---------------------------------------------------------------------------------------------

    def _choice(self, params: Mapping[str, Any]) -> tuple[int, int]:
        """K of the first stage, and K reranked, which is no greater."""
        usual, settings = Options(), self.settings
        depth = usual.depth if usual.depth in settings.depths else settings.depths[-1]
        rerank = usual.rerank if usual.rerank in settings.reranks else settings.reranks[-1]
        depth, rerank = int(params.get("depth", depth)), int(params.get("rerank", rerank))
        return depth, min(rerank, depth) if self._crosses else 0

    def _hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        depth, rerank = self._choice(params)
        rows, before = (self._array(name)[queries, :depth] for name in ("rows", "before"))
        last = np.asarray(before)
        if rerank:
            top = TopCandidates.select(rows, before, rerank)
            read = top.gather({"cross": self._array("cross")[queries, :depth]})["cross"]
            weight = params.get("cross_weight", Options().cross_weight)
            final = combine_standardised(top.ranking.scores, read, weight)
            final = np.where(top.ranking.rows == NO_ROW, -np.inf, final).astype(np.float32)
            last = top.merge(final, before)
        ranking = Ranking(np.asarray(rows), last).rescored(last)
        return Hits.of(ranking, consecutive(self.cited, queries))

    def _more(self, params: Mapping[str, Any]) -> dict[str, float]:
        """The latency, and ``R@K``: the share of cited papers that the first stage hands on."""
        depth, rerank = self._choice(params)
        times = self._times_kept
        latency = times["first"][str(depth)] + times["second"][str(depth)]
        if rerank:
            latency += times["cross"][str(rerank)]
        found = Metric("R", depth).mean(self.hits(params))
        return {LATENCY: latency, "R@K": found}

    @cached_property
    def _times_kept(self) -> dict[str, dict[str, float]]:
        assert self._manifest
        times: dict[str, dict[str, float]] = read_json(self.folder / "times.json")
        return times
