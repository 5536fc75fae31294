"""Compares NNRank on dev with the orders that it would replace: NNSelect's, and the first stage's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.manifests import read_manifest
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.options import QUERY_KINDS, Options
from cocite.pipeline.second_stage import SecondStage
from cocite.retrieval.index.index import Index
from cocite.systems.citeomatic.nnrank.candidates import NeighbourCandidates
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnrank.reranker import NNRankReranker, load_reranker
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder, load_encoder
from cocite.systems.learned_fusion.examples import collect_examples
from cocite.training.candidates import CandidateSet, CandidateSettings, cited_rows, training_positions
from cocite.training.engine.world import World
from cocite.training.periods import Periods
from cocite.training.stages import (
    StageComparison,
    compare_stages,
    query_values,
    score_values,
    stage_record,
)

QUERIES = 500
"""Most dev queries of a kind that NNRank is compared with the first stage on."""


def nnrank_record(
    recipe: NNRankRecipe,
    corpus: Corpus,
    model_folder: Path,
    artifact: Path,
    stage: Callable[[str, int], object],
) -> dict[str, Any]:
    """The entries of a trained NNRank's manifest about its use in the pipeline.

    ``stages`` and ``notes`` are those of :func:`~cocite.training.stages.stage_record`, after the notes that the
    manifest has. ``left_out`` has the key ``all`` where NNRank is below NNSelect's order of the same candidates: then
    nothing reads its score. It has the kinds of query for which NNRank is below the first stage: then it is a signal of
    the learned fusion alone, and without a fusion the order of the first stage stays.

    Args:
        recipe: it was trained with.
        corpus: it was trained on.
        model_folder: holds the NNSelect it was trained on.
        artifact: the folder of the trained NNRank.
        stage: is called with a description of the comparison when it begins, and 0: its length is unknown.
    """
    stage("comparing with the stages before", 0)
    periods = Periods.of(corpus, recipe.period)
    encoder = load_encoder(model_folder)
    vectors = encoder.encode_papers(corpus, np.arange(len(corpus), dtype=np.int32))
    reranker = load_reranker(artifact, corpus, periods.history, vectors, encoder=encoder)
    notes = read_manifest(artifact).meta.get("notes", [])
    whole = stage_record(
        [_over_nnselect(recipe, periods, reranker, vectors)],
        recipe.keep,
        left_out="it is left out of the pipeline",
    )
    if whole["left_out"]:
        return {**whole, "notes": notes + whole["notes"], "left_out": {"all": whole["left_out"]["global"]}}
    over_first = stage_record(
        _over_first_stage(periods, reranker, encoder),
        recipe.keep,
        left_out="such candidates are ordered by the first stage, or by a learned fusion, which weighs nnrank's score",
    )
    return {
        "stages": whole["stages"] + over_first["stages"],
        "notes": notes + whole["notes"] + over_first["notes"],
        "left_out": over_first["left_out"],
    }


def _over_nnselect(
    recipe: NNRankRecipe, periods: Periods, reranker: NNRankReranker, vectors: NDArray[np.float32]
) -> StageComparison:
    """NNRank's order of NNSelect's neighbours and what they cite, against NNSelect's."""
    queries, corpus = periods.dev, periods.history.corpus
    before = NeighbourCandidates(periods.history, recipe.candidates, vectors).dev(queries, World())
    bags = reranker.fields.papers(corpus, queries)
    after = before.rescored(reranker.score_bags(bags, vectors[queries], queries, before.rows))
    counts = corpus.cites.degrees[queries]
    new, old = (
        query_values(corpus.cites.contains(queries[:, None], ranking.rows), counts)
        for ranking in (after, before)
    )
    return compare_stages("nnrank", "nnselect", "global", new, old, queries)


def _over_first_stage(
    periods: Periods, reranker: NNRankReranker, encoder: NNSelectEncoder
) -> list[StageComparison]:
    """NNRank's order of the first stage's candidates, against the first stage's; NNSelect is its only encoder."""
    history = periods.history
    corpus = history.corpus
    index = Index.build(corpus, history, encoders=[encoder])
    first, second = FirstStage(index, [encoder]), SecondStage(index, nnrank=reranker)
    dev = np.zeros(len(corpus), bool)
    dev[periods.dev] = True
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
