"""The second stage: each costlier component reads fewer candidates, and the order where a component is missing."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.noisy_cross_encoder import NoisyCrossEncoder
from helpers.pipeline_queries import queries_of

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Query, Ranking
from cocite.systems.learned_fusion.examples import collect_examples
from cocite.systems.learned_fusion.recipe import FinalRecipe, FusionRecipe
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.systems.learned_fusion.task import train_measured

TREES = {"trees": {"trees": 20, "leaves": 7, "threads": 1}}


@pytest.fixture(scope="module")
def cross(corpus: Corpus) -> NoisyCrossEncoder:
    return NoisyCrossEncoder(corpus)


@pytest.fixture(scope="module")
def fusions(corpus: Corpus, first: FirstStage, later: list[int]) -> dict[str, LearnedFusion]:
    """Trained on a third of the later papers."""
    result = {}
    for kind in ("local", "global"):
        queries, relevant = queries_and_citations(corpus, later[:13], kind)
        data = collect_examples(
            StagedCandidates(first, SecondStage(first.index), depth=100), queries, relevant
        )
        result[kind] = train_measured(data, FusionRecipe.parse(TREES)).fusion
    return result


def queries_and_citations(corpus: Corpus, rows: list[int], kind: str = "local") -> tuple[list[Query], CSR]:
    return queries_of(corpus, rows, context=kind == "local"), CSR.build(*corpus.cites.gather(rows), len(rows))


def precision(corpus: Corpus, rows: list[int], ranking: Ranking) -> float:
    return float(
        np.mean([np.isin(ranking.rows[i, :5], corpus.cites[row]).mean() for i, row in enumerate(rows)])
    )


def test_a_cross_encoder_reads_the_best_alone(
    corpus: Corpus,
    first: FirstStage,
    fusions: dict[str, LearnedFusion],
    cross: NoisyCrossEncoder,
    later: list[int],
) -> None:
    rows = later[26:]
    queries, _ = queries_and_citations(corpus, rows)
    fused = Recommender(first, SecondStage(first.index, fusions=fusions))
    full = Recommender(first, SecondStage(first.index, fusions=fusions, cross_encoder=cross))
    before = fused.rank(queries, 200)
    assert np.array_equal(full.rank(queries, 200, rerank=0).rows, before.rows)
    cross.pairs = 0
    after = full.rank(queries, 200, rerank=30)
    assert cross.pairs == 30 * len(queries)
    np.testing.assert_array_equal(np.sort(after.rows[:, :30]), np.sort(before.rows[:, :30]))
    np.testing.assert_array_equal(after.rows[:, 30:], before.rows[:, 30:])
    assert (np.diff(after.scores, axis=1) <= 0).all()
    assert precision(corpus, rows, after) > precision(corpus, rows, before)
    alone = full.rank(queries, 30, rerank=30, cross_weight=1.0)
    scores = cross.score(queries, Ranking(before.rows[:, :30], before.scores[:, :30]))
    np.testing.assert_array_equal(alone.rows, before.top(30).rescored(scores).rows)


def test_a_paper_has_the_scores_of_the_stages_that_scored_it(
    corpus: Corpus,
    first: FirstStage,
    fusions: dict[str, LearnedFusion],
    cross: NoisyCrossEncoder,
    later: list[int],
) -> None:
    full = Recommender(first, SecondStage(first.index, fusions=fusions, cross_encoder=cross))
    papers = full.recommend(queries_and_citations(corpus, later[-1:])[0][0], Options(top_k=20, rerank=10))
    assert [list(paper.stages) for paper in papers[:10]] == [
        ["first-stage", "fusion", "cross-encoder", "final"]
    ] * 10
    assert [list(paper.stages) for paper in papers[10:]] == [["first-stage", "fusion", "final"]] * 10
    assert all(paper.stages["final"] == paper.score for paper in papers)


def test_a_final_fusion_learns_to_weigh_a_noisy_cross_encoder(
    corpus: Corpus, first: FirstStage, fusions: dict[str, LearnedFusion], later: list[int]
) -> None:
    """With a cross-encoder that is often wrong, the final fusion does not do worse than the fusion it stands behind."""
    unsure = NoisyCrossEncoder(corpus, noise=4.0)
    second = SecondStage(first.index, fusions=fusions, cross_encoder=unsure)
    finals = {}
    for kind in ("local", "global"):
        queries, relevant = queries_and_citations(corpus, later[13:26], kind)
        data = collect_examples(StagedCandidates(first, second, depth=100, rerank=40), queries, relevant)
        assert {"fusion", "fusion/gap", "fusion/rank", "cross-encoder/rank"} <= set(data.signals)
        assert all(values.shape == (13, 40) for values in data.signals.values())
        learned = train_measured(data, FinalRecipe.parse(TREES), against=["fusion", "cross-encoder"])
        finals[kind] = learned.fusion
        assert {"fusion MRR", "cross-encoder R@10", "MRR"} <= set(learned.metrics)
        assert finals[kind].depth == 40
    rows = later[26:]
    queries, _ = queries_and_citations(corpus, rows)
    fused, crossed, final = (
        Recommender(first, stage).rank(queries, 100, rerank=40, cross_weight=1.0)
        for stage in (
            SecondStage(first.index, fusions=fusions),
            second,
            SecondStage(first.index, fusions=fusions, cross_encoder=unsure, finals=finals),
        )
    )
    assert precision(corpus, rows, final) > precision(corpus, rows, crossed)
    assert precision(corpus, rows, final) > 0.8 * precision(corpus, rows, fused)


def test_kinds_may_be_mixed_and_differ_in_their_parts(
    corpus: Corpus, first: FirstStage, fusions: dict[str, LearnedFusion], later: list[int]
) -> None:
    """A cross-encoder made for gaps leaves whole papers alone, unless a final fusion weighs it there."""
    gaps = NoisyCrossEncoder(corpus, kinds=("local",))
    second = SecondStage(first.index, fusions={"local": fusions["local"]}, cross_encoder=gaps)
    mixed = [
        *queries_and_citations(corpus, later[:2], "global")[0],
        *queries_and_citations(corpus, later[2:4])[0],
    ]
    options = Options(depth=60, rerank=10)
    stages = second.scores(mixed, first.retrieve(mixed, options), options)
    assert list(stages.scores) == ["first-stage", "fusion", "cross-encoder", "final"]
    assert np.isnan(stages.scores["fusion"][:2]).all()
    np.testing.assert_array_equal(stages.last[:2], stages.scores["first-stage"][:2])
    np.testing.assert_array_equal(stages.last[2:], stages.scores["final"][2:])
    recommender = Recommender(first, second)
    together = recommender.rank(mixed, 50, depth=60, rerank=10)
    for i, query in enumerate(mixed):
        alone = recommender.rank([query], 50, depth=60, rerank=10)
        np.testing.assert_array_equal(together.rows[i], alone.rows[0])
    assert recommender.rank([], 5).rows.shape == (0, 5)


def test_fewer_papers_than_are_asked_for(
    corpus: Corpus, first: FirstStage, cross: NoisyCrossEncoder, later: list[int]
) -> None:
    year = int(corpus.years.min()) + 1
    second = SecondStage(first.index, cross_encoder=cross)
    query = queries_and_citations(corpus, later[:1])[0]
    options = Options(depth=200, rerank=150, year_to=year)
    found = second.rerank(query, first.retrieve(query, options), options)[0]
    assert 0 < len(found) <= 20
    assert all(paper.year <= year for paper in found)


def test_the_depth_is_the_one_that_was_trained(
    corpus: Corpus, first: FirstStage, fusions: dict[str, LearnedFusion], later: list[int]
) -> None:
    recommender = Recommender(first, SecondStage(first.index, fusions=fusions))
    queries, _ = queries_and_citations(corpus, later[:3], "global")
    assert recommender.second.depth("global") == 100
    np.testing.assert_array_equal(
        recommender.rank(queries, 150).rows, recommender.rank(queries, 150, depth=100).rows
    )
