"""Compares where a study ranks the cited papers with where the pipeline ranks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cocite.evaluation.hits import UNRANKED, Hits
from cocite.protocols import Ranking
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.studies.score_study import ScoreStudy


def dev_of(study: ScoreStudy[Any], **more: bool) -> DevQueries:
    """The queries that a study is measured on."""
    return DevQueries(study.settings, study.corpus, **more)


def hits_of(study: ScoreStudy[Any], ranking: Ranking, dev: DevQueries) -> tuple[Hits, Hits]:
    """The hits of a ranking of all queries: of the trials' queries, and of the held-out ones."""
    hits = Hits.of(ranking, dev.task.relevant)
    tuning = np.arange(len(dev.task)) < study.tuning_count
    return hits.queries(tuning), hits.queries(~tuning)


def same_to(depth: int, ours: Hits, theirs: Hits) -> float:
    """The share of cited papers with the same rank, where all ranks beyond a depth count as one."""
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    a, b = (np.where(hits.ranks <= depth, hits.ranks, UNRANKED) for hits in (ours, theirs))
    return float((a == b).mean())


def same_ranks(study: ScoreStudy[Any], params: dict[str, Any], ranking: Ranking, dev: DevQueries) -> float:
    """The share of cited papers that a study and a ranking rank alike to a depth of 100, on the worse side."""
    tuning, held_out = hits_of(study, ranking, dev)
    return min(
        same_to(100, study.hits(params), tuning), same_to(100, study.hits(params, held_out=True), held_out)
    )


def ignore_metrics(metrics: Mapping[str, float], step: int) -> None:
    """A report of a trial's metrics that does nothing."""
