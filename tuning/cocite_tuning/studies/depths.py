"""``depths``: how many candidates each stage gets, quality against latency.

The parameters are K of the first stage (``Options.depth``), K that the cross-encoder reads (``Options.rerank``), and
the weight of its score (``Options.cross_weight``). The first stage, NNRank, the learned fusion and the cross-encoder
score a candidate alike whatever K is: each scores once, at the greatest K, and a trial only orders. Quality is measured
on dev manuscripts that the learned fusion was not trained on; latency one query at a time, at every K that can be
chosen, so no time is interpolated.

The final fusion is left out: it is trained on the very manuscripts that the learned fusion leaves, so no dev query is
new to both. ``cross_weight`` replaces it, as it does where a model folder has none.
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
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.top_candidates import TopCandidates, combine_standardised
from cocite.protocols import NO_ROW, Ranking
from cocite_tuning.studies.depths_settings import DepthsStudySettings
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.studies.latency import Call, median_milliseconds
from cocite_tuning.studies.pools import slice_lists
from cocite_tuning.studies.score_cache import save_arrays
from cocite_tuning.studies.score_study import ScoreStudy, literal_of
from cocite_tuning.studies.usage import UsageCommands, command_line, override
from cocite_tuning.sweep.trials import LATENCY

BLOCK = 64
"""Queries scored together."""
CROSS_REPEATS = 2
"""How often the cross-encoder is timed: it takes seconds, which vary less."""


class DepthsStudy(ScoreStudy[DepthsStudySettings]):
    """Tunes ``depth``, and with a cross-encoder ``rerank`` and ``cross_weight``.

    The defaults are those of :class:`~cocite.pipeline.options.Options`, or the greatest K that can be chosen.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> settings = DepthsStudySettings(task="global", queries=10, depths=(5, 50), timed=1)
        >>> with tempfile.TemporaryDirectory() as shared:
        ...     study = DepthsStudy(settings, starter_corpus().path, Path(shared))
        ...     study.prepare()
        ...     few, many = (study.run({"depth": depth}, print, Path()) for depth in (5, 50))
        >>> few["R@K"] <= many["R@K"]  # the share of cited papers that the first stage passes on
        True
    """

    @property
    def parameter_types(self) -> Mapping[str, Any]:
        """The parameters whose parts the model folder has."""
        types: dict[str, Any] = {"depth": literal_of(self.settings.depths)}
        if self._has_cross_encoder:
            types["rerank"] = literal_of(self.settings.reranks)
            types["cross_weight"] = Annotated[float, Field(ge=0, le=1)]
        return types

    @property
    def _has_cross_encoder(self) -> bool:
        return "cross-encoder" in self.used_components and max(self.settings.reranks) > 0

    @property
    def _cache_settings(self) -> dict[str, Any]:
        settings = self.settings
        reranks = list(settings.reranks) if self._has_cross_encoder else []
        return {"depths": list(settings.depths), "reranks": reranks, "timed": settings.timed}

    # -- scoring ---------------------------------------------------------------------------------------------

    def _fill_cache(self, folder: Path) -> DevQueries:
        dev = DevQueries(self.settings, self.corpus, unseen="fusion" in self.used_components)
        first, second = dev.first_stage, self._second_stage(dev)
        deepest = Options(depth=self.settings.depths[-1], evidence=False)
        rows, before, cross = [], [], []
        for start in range(0, len(dev.task), BLOCK):
            queries = dev.task.queries[start : start + BLOCK]
            candidates = first.retrieve(queries, deepest)
            scores, _ = second.score_all(queries, candidates)
            rows.append(candidates.top.rows)
            # The scores come in the order of the stages: the last are those that the cross-encoder would read by.
            before.append(next(reversed(scores.values())))
            if self._has_cross_encoder:
                assert second.cross_encoder is not None
                top = self._ever_read(rows[-1], before[-1])
                scores_read = second.cross_encoder.score(queries, top.ranking)
                cross.append(top.scatter(np.where(top.ranking.rows == NO_ROW, np.nan, scores_read)))
        arrays: dict[str, NDArray[Any]] = {"rows": np.concatenate(rows), "before": np.concatenate(before)}
        if cross:
            arrays["cross"] = np.concatenate(cross)
        save_arrays(folder, arrays)
        times = self._times(dev, first, second)
        write_atomic(folder / "times.json", json.dumps(times, indent=1) + "\n")
        return dev

    def _second_stage(self, dev: DevQueries) -> SecondStage:
        model = self.settings.model
        if model is None:
            return SecondStage(dev.index)
        second = SecondStage(
            dev.index,
            nnrank=components.load_nnrank(model, dev.index) if "nnrank" in self.used_components else None,
            nnrank_orders=components.ordered_kinds(model, "nnrank"),
            fusions=components.load_fusions(model, dev.index, "fusion")
            if "fusion" in self.used_components
            else None,
            cross_encoder=components.load_cross_encoder(model, dev.index)
            if self._has_cross_encoder
            else None,
        )
        if self._has_cross_encoder and not second.uses_cross_encoder(self.settings.task):
            raise InputError(
                f"this cross-encoder was not made for {self.settings.task} queries",
                where=str(model / "cross-encoder"),
                hint="leave it out: without=[cross-encoder]",
            )
        return second

    def _ever_read(self, rows: NDArray[np.int32], before: NDArray[np.float32]) -> TopCandidates:
        """The candidates that the cross-encoder reads under any choice: the best of the first K, for every K."""
        read = np.zeros(rows.shape, bool)
        for depth in self.settings.depths:
            best = TopCandidates.select(rows[:, :depth], before[:, :depth], self.settings.reranks[-1])
            np.put_along_axis(read, best.columns, True, 1)
        read &= rows != NO_ROW
        columns = np.argsort(~read, axis=1, kind="stable")[:, : int(read.sum(axis=1).max(initial=0))]
        chosen = np.where(np.take_along_axis(read, columns, 1), np.take_along_axis(rows, columns, 1), NO_ROW)
        ranking = Ranking(chosen.astype(np.int32), np.zeros(chosen.shape, np.float32))
        return TopCandidates(columns, ranking, rows.shape[1])

    def _times(self, dev: DevQueries, first: FirstStage, second: SecondStage) -> dict[str, dict[str, float]]:
        """Milliseconds per query by stage and K."""
        queries = dev.task.queries[: self.settings.timed]
        options = {depth: Options(depth=depth, evidence=False) for depth in self.settings.depths}
        candidates = {
            # One query at a time, as the endpoint has them.
            depth: {query.id: first.retrieve([query], options[depth]) for query in queries}
            for depth in options
        }

        def retrieve(depth: int) -> Call:
            return lambda queries: first.retrieve(queries, options[depth])

        def fuse(depth: int) -> Call:
            return lambda queries: second.score_all(queries, candidates[depth][queries[0].id])

        times = {
            "first": median_milliseconds({str(depth): retrieve(depth) for depth in options}, queries),
            "second": median_milliseconds({str(depth): fuse(depth) for depth in options}, queries),
        }
        if second.cross_encoder is not None:
            cross_encoder, widest = second.cross_encoder, candidates[self.settings.depths[-1]]

            def read(rerank: int) -> Call:
                return lambda queries: cross_encoder.score(queries, widest[queries[0].id].ranking.top(rerank))

            counts = {min(rerank, depth) for rerank in self.settings.reranks for depth in options} - {0}
            calls = {str(count): read(count) for count in sorted(counts)}
            times["cross"] = median_milliseconds(calls, queries, repeats=CROSS_REPEATS)
        return times

    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:  # noqa: ARG002
        """The command that starts the endpoint with these K."""
        depth, rerank = self._choice(params)
        options = [override("depth", depth)]
        model = self.settings.model
        if model is not None and (model / "cross-encoder").is_dir():
            options.append(override("rerank", rerank))
        if "cross_weight" in params:
            options.append(override("cross_weight", params["cross_weight"]))
        words = [word for option in options for word in ("--set", option)]
        serve = command_line("cocite", "serve", "--index", self._index_folder, *self._model_option, *words)
        notes = self._index_notes
        if "final" in self.used_components:
            notes.append("The final fusion was left out here; the endpoint orders what was read by it.")
        return UsageCommands((serve,), tuple(notes))

    # -- a trial ---------------------------------------------------------------------------------------------

    def _choice(self, params: Mapping[str, Any]) -> tuple[int, int]:
        """K of the first stage, and K reranked, which is at most as great."""
        defaults, settings = Options(), self.settings
        depth = defaults.depth if defaults.depth in settings.depths else settings.depths[-1]
        rerank = defaults.rerank if defaults.rerank in settings.reranks else settings.reranks[-1]
        depth, rerank = int(params.get("depth", depth)), int(params.get("rerank", rerank))
        return depth, min(rerank, depth) if self._has_cross_encoder else 0

    def _compute_hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        depth, rerank = self._choice(params)
        rows, before = (self._cache.array(name)[queries, :depth] for name in ("rows", "before"))
        last = np.asarray(before)
        if rerank:
            top = TopCandidates.select(rows, before, rerank)
            read = top.gather({"cross": self._cache.array("cross")[queries, :depth]})["cross"]
            weight = params.get("cross_weight", Options().cross_weight)
            final = combine_standardised(top.ranking.scores, read, weight)
            final = np.where(top.ranking.rows == NO_ROW, -np.inf, final).astype(np.float32)
            last = top.merge(final, before)
        ranking = Ranking(np.asarray(rows), last).rescored(last)
        return Hits.of(ranking, slice_lists(self.cited, queries))

    extra_metric_names = (LATENCY, "R@K")

    def _extra_metrics(self, params: Mapping[str, Any]) -> dict[str, float]:
        """The latency, and ``R@K``: the share of cited papers that the first stage passes on."""
        depth, rerank = self._choice(params)
        times = self._cached_times
        latency = times["first"][str(depth)] + times["second"][str(depth)]
        if rerank:
            latency += times["cross"][str(rerank)]
        return {LATENCY: latency, "R@K": Metric("R", depth).mean(self.hits(params))}

    @cached_property
    def _cached_times(self) -> dict[str, dict[str, float]]:
        times: dict[str, dict[str, float]] = self._cache.json("times.json")
        return times
