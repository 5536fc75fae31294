"""Compares NNRank on dev with the orders that it would replace: NNSelect's, and the first stage's."""

from __future__ import annotations

from typing import Any

import numpy as np

from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.options import QUERY_KINDS, Options
from cocite.pipeline.second_stage import SecondStage
from cocite.retrieval.index.index import Index
from cocite.systems.citeomatic.artifacts import NNSelectEncoder
from cocite.systems.citeomatic.nnrank_task import NNRankTask
from cocite.systems.learned_fusion.examples import collect_examples
from cocite.training.candidates import CandidateSet, CandidateSettings, cited_rows, training_positions
from cocite.training.stages import (
    Keep,
    StageComparison,
    compare_stages,
    query_values,
    score_values,
    stage_record,
)

QUERIES = 500
"""Most dev queries of a kind that NNRank is compared with the first stage on."""


def nnrank_record(task: NNRankTask, encoder: NNSelectEncoder, keep: Keep) -> dict[str, Any]:
    """The entries of a trained NNRank's manifest about its use in the pipeline.

    ``stages`` and ``notes`` are those of :func:`~cocite.training.stages.stage_record`. ``left_out`` has the key
    ``all`` where NNRank is below NNSelect's order of the same candidates: then nothing reads its score. It has the
    kinds of query for which NNRank is below the first stage: then it is a signal of the learned fusion alone, and
    without a fusion the order of the first stage stays.
    """
    whole = stage_record([_over_nnselect(task)], keep, left_out="it is left out of the pipeline")
    if whole["left_out"]:
        return {**whole, "left_out": {"all": whole["left_out"]["global"]}}
    over_first = stage_record(
        _over_first_stage(task, encoder),
        keep,
        left_out="such candidates are ordered by the first stage, or by a learned fusion, which weighs nnrank's score",
    )
    return {
        "stages": whole["stages"] + over_first["stages"],
        "notes": whole["notes"] + over_first["notes"],
        "left_out": over_first["left_out"],
    }


def _over_nnselect(task: NNRankTask) -> StageComparison:
    """NNRank's order of NNSelect's neighbours and what they cite, against NNSelect's."""
    queries, cites = task.periods.dev, task.periods.history.corpus.cites
    counts = cites.degrees[queries]
    new, old = (
        query_values(cites.contains(queries[:, None], ranking.rows), counts)
        for ranking in (task.rank(queries, task.dev), task.dev)
    )
    return compare_stages("nnrank", "nnselect", "global", new, old, queries)


def _over_first_stage(task: NNRankTask, encoder: NNSelectEncoder) -> list[StageComparison]:
    """NNRank's order of the first stage's candidates, against the first stage's; NNSelect is its only encoder."""
    history = task.periods.history
    corpus = history.corpus
    index = Index.build(corpus, history, encoders=[encoder])
    first, second = FirstStage(index, [encoder]), SecondStage(index, nnrank=task.reranker)
    dev = np.zeros(len(corpus), bool)
    dev[task.periods.dev] = True
    result = []
    for kind in QUERY_KINDS:
        settings = CandidateSettings(task=kind)
        positions = training_positions(corpus, settings, dev, QUERIES)
        if not len(positions):
            continue  # a corpus without contexts has no local queries
        cited = cited_rows(corpus, kind, positions)
        rows = np.zeros((len(positions), 0), np.int32)
        queries = CandidateSet(kind, positions, rows, cited).queries(corpus)
        source = StagedCandidates(first, second, depth=Options().depth)
        data = collect_examples(source, queries, cited)
        new, old = (
            score_values(data.signals[name], data.relevant, data.counts) for name in ("nnrank", "first-stage")
        )
        result.append(compare_stages("nnrank", "first-stage", kind, new, old, data.papers))
    return result
