"""Popularity and diversity: nothing changes at 0, the first stays, long lists begin with short ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.pipeline_queries import queries_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options, Stages
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.reordering import Reordering, damped, mmr, relevances, word_vectors
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import NO_ROW
from cocite.retrieval.index.index import Index

SHARES = st.floats(0, 1)


@st.composite
def candidates(draw: st.DrawFn) -> tuple[Any, Any]:
    """Relevances, greatest first, and unit vectors; some are equal, some vectors are 0."""
    count = draw(st.integers(1, 12))
    relevance = np.sort(draw(arrays.arrays(np.float64, count, elements=st.floats(0, 1, width=32))))[::-1]
    vectors = draw(arrays.arrays(np.float32, (count, 3), elements=st.integers(-2, 2).map(float)))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return relevance, vectors / np.where(norms > 0, norms, 1)


@given(candidates(), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(1, 14))
def test_papers_are_picked_by_the_greedy_rule(case: tuple[Any, Any], share: float, count: int) -> None:
    relevance, vectors = case
    picked, marginal = mmr(relevance, vectors, share, count)
    assert picked[0] == 0
    assert len(set(picked.tolist())) == len(picked) == min(count, len(relevance))
    assert (np.diff(marginal.astype(np.float32)) < 0).all(), "the values tell the order"
    for n, best in enumerate(picked.tolist()):
        before = picked[:n].tolist()
        values = {
            i: (1 - share) * relevance[i]
            - share * max([max(float(vectors[i] @ vectors[j]), 0.0) for j in before], default=0.0)
            for i in range(len(relevance))
            if i not in before
        }  # Carbonell and Goldstein's formula, written out
        assert values[best] == pytest.approx(max(values.values()), abs=1e-5)
        assert marginal[n] == pytest.approx(values[best], abs=1e-5)


@given(candidates(), SHARES, st.integers(1, 12), st.integers(1, 12))
def test_a_longer_list_begins_with_the_shorter(
    case: tuple[Any, Any], share: float, one: int, other: int
) -> None:
    short, long = sorted((one, other))
    picked = [mmr(*case, share, count) for count in (short, long)]
    assert picked[0][0].tolist() == picked[1][0][:short].tolist()
    assert picked[0][1].tolist() == picked[1][1][:short].tolist()


@given(candidates(), st.integers(1, 12))
def test_without_diversity_the_order_is_that_of_relevance(case: tuple[Any, Any], count: int) -> None:
    picked, _ = mmr(*case, 0.0, count)
    assert picked.tolist() == list(range(min(count, len(case[0]))))


@given(arrays.arrays(np.float32, (2, 5), elements=st.floats(-1e6, 1e6, width=32)))
def test_relevances_keep_the_order_and_lie_between_0_and_1(scores: Any) -> None:
    values = relevances(scores)
    assert ((values >= 0) & (values <= 1)).all()
    assert values.max(axis=1).tolist() == [1.0, 1.0]
    for before, after in zip(scores, values, strict=True):
        order = np.argsort(before, kind="stable")
        assert (np.diff(after[order]) >= 0).all()


@given(
    arrays.arrays(np.float64, (1, 6), elements=st.floats(0, 1)),
    arrays.arrays(np.float64, (1, 6), elements=st.floats(0, 9)),
    SHARES,
)
def test_damping_takes_at_most_its_share_and_most_from_the_most_cited(
    relevance: Any, cited: Any, share: float
) -> None:
    values = damped(relevance, cited, share)
    assert (values <= relevance).all()
    assert (values >= relevance * (1 - share) - 1e-12).all()
    assert values[cited == 0].tolist() == relevance[cited == 0].tolist()
    assert damped(relevance, cited, 0.0).tolist() == relevance.tolist()


def test_padding_stays_behind(whole: Index) -> None:
    rows = np.array([[4, NO_ROW, 2]])
    scores = np.array([[1.0, 9.0, 3.0]], np.float32)
    for options in (Options(popularity=0.5), Options(diversity=0.5), Options(popularity=1, diversity=1)):
        stages = Reordering(whole).apply(rows, Stages({"x": scores}, scores), options)
        assert np.isneginf(stages.last[0, 1])
        assert all(np.isnan(values[0, 1]) for name, values in stages.scores.items() if name != "x")


@pytest.fixture(scope="module")
def recommender(whole: Index) -> Recommender:
    return Recommender(FirstStage(whole), SecondStage(whole))


def test_shares_of_0_change_nothing_and_the_first_stays(
    recommender: Recommender, corpus: Corpus, later: list[int]
) -> None:
    for query in queries_of(corpus, later[:5], context=False):
        plain = recommender.recommend(query, Options(top_k=20))
        assert recommender.recommend(query, Options(top_k=20, popularity=0.0, diversity=0.0)) == plain
        apart = recommender.recommend(query, Options(top_k=300, diversity=0.5))
        assert apart[0].row == plain[0].row
        everything = recommender.recommend(query, Options(top_k=300))
        assert sorted(paper.row for paper in apart) == sorted(paper.row for paper in everything)
        scores = [paper.score for paper in apart]
        assert scores == sorted(scores, reverse=True)
        assert {"mmr"} == apart[0].stages.keys() - everything[0].stages.keys()


def test_pages_are_the_parts_of_one_list(recommender: Recommender, corpus: Corpus, later: list[int]) -> None:
    [query] = queries_of(corpus, later[:1], context=True)
    for shares in ({}, {"popularity": 0.7}, {"diversity": 0.6}, {"popularity": 0.3, "diversity": 0.3}):
        whole = recommender.recommend(query, Options(top_k=30, **shares))
        pages = [recommender.recommend(query, Options(top_k=10, offset=at, **shares)) for at in (0, 10, 20)]
        assert [paper.id for page in pages for paper in page] == [paper.id for paper in whole]


def test_damping_lowers_the_citations_of_the_first(
    recommender: Recommender, corpus: Corpus, later: list[int], whole: Index
) -> None:
    def cited(popularity: float) -> float:
        found = recommender.recommend_all(
            queries_of(corpus, later, context=False), Options(top_k=10, popularity=popularity)
        )
        return float(np.mean([whole.history.in_citations[p.row] for papers in found for p in papers]))

    assert cited(1.0) < cited(0.5) < cited(0.0)


def test_words_of_texts_that_have_none() -> None:
    assert np.asarray(word_vectors(["?", ""])).tolist() == [[0.0], [0.0]]
    vectors = word_vectors(["parsing trees", "parsing trees", "speech"])
    assert (vectors @ vectors.T).toarray().round(5).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
