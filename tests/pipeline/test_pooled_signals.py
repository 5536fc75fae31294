"""Pooled signals: without limits they are the dense ones, with them they give nearly the same ranking."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.pipeline_queries import queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.pipeline.dense_signals import DenseSignals
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.pooled_signals import UNLIMITED_POOL, PooledSignals
from cocite.pipeline.signals import Signals
from cocite.protocols import NO_ROW
from cocite.retrieval.index.index import Index
from cocite.retrieval.shards.paper_filter import PaperFilter


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("removed", [False, True])
def test_without_limits_the_ranking_and_all_signals_are_the_dense_ones(
    corpus: Corpus, first: FirstStage, later: list[int], context: bool, removed: bool
) -> None:
    index = first.index
    if removed:
        alive = np.arange(len(corpus)) % 5 > 0
        index = dataclasses.replace(
            index, alive=alive, history=History(corpus, index.history.citing & alive)
        ).with_history(History(corpus, index.history.citing & alive))
    signals = Signals(index)
    weights = first.weights["local" if context else "global"]
    weights = {name: weight for name, weight in weights.items() if name not in ("hatten", "nnselect")}
    queries = queries_of(corpus, later[:8], context=context)
    queries[1] = dataclasses.replace(queries[1], exclude=tuple(range(0, 600, 9)))
    queries[2] = dataclasses.replace(queries[2], candidates_until=2006)
    dense, pooled = DenseSignals(signals, queries), PooledSignals(signals, queries, UNLIMITED_POOL)
    weights = {name: weight for name, weight in weights.items() if _is_known(dense, name)}
    assert len(weights) > 8
    expected, found = (block.ranking(weights, 40) for block in (dense, pooled))
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)
    for name, values in dense.at(expected).items():
        other = pooled.at(expected)[name]
        np.testing.assert_allclose(other, values, rtol=1e-4, atol=1e-5, err_msg=name)
    np.testing.assert_array_equal(pooled.neighbour_voters.rows, dense.neighbour_voters.rows)
    np.testing.assert_array_equal(pooled.sentence_voters.rows, dense.sentence_voters.rows)


def _is_known(block: DenseSignals, name: str) -> bool:
    try:
        block.check(name)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("context", [False, True])
def test_small_pools_hold_nearly_all_of_the_best(
    corpus: Corpus, whole: Index, later: list[int], context: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = queries_of(corpus, later, context=context)
    dense, pooled = (FirstStage(whole, dense=way).search(queries, 20) for way in (True, False))
    kept = [np.isin(a, b).mean() for a, b in zip(dense.rows, pooled.rows, strict=True)]
    assert np.mean(kept) > 0.98


def test_only_allowed_papers_are_retrieved(corpus: Corpus, first: FirstStage, later: list[int]) -> None:
    queries = queries_of(corpus, later[:4], context=True)
    queries = [dataclasses.replace(query, candidates_until=2006, exclude=(5, 7)) for query in queries]
    allowed = np.arange(len(corpus)) % 2 == 1
    block = PooledSignals(first.signals, queries)
    papers = PaperFilter.rows(np.flatnonzero(~allowed))
    rows = block.ranking({"whole>text": 1.0, "in-citations": 0.1}, 50, papers).rows
    for query, found in zip(queries, rows, strict=True):
        found = found[found != NO_ROW]
        assert len(found) > 5
        assert (corpus.years[found] <= 2006).all()
        assert allowed[found].all()
        assert not np.isin(found, [5, 7, query.paper]).any()


def test_a_query_that_nothing_speaks_for_gets_the_most_cited(first: FirstStage) -> None:
    from cocite.protocols import Query

    block = PooledSignals(first.signals, [Query("q", title="zzzz")])
    ranking = block.ranking({"whole>text": 1.0, "in-citations": 0.5}, 10)
    counts = first.signals.counts["in-citations"][ranking.rows[0]]
    assert counts.tolist() == sorted(counts.tolist(), reverse=True)
