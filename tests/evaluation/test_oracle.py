"""Oracle candidates, reranked heads, and scores that are computed once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.evaluation.oracle import CachedReranker, add_relevant, rerank_head
from cocite.protocols import NO_ROW, Query, Ranking


def ranking(rows):
    rows = np.array(rows, np.int32)
    scores = np.where(rows == NO_ROW, -np.inf, -np.arange(rows.shape[1])).astype(np.float32)
    return Ranking(rows, scores)


def relevant(*lists):
    owners = np.repeat(np.arange(len(lists)), [len(entries) for entries in lists])
    return CSR.build(owners, np.concatenate([np.array(e, np.int32) for e in lists]), len(lists))


def test_what_was_not_retrieved_takes_the_last_places():
    found = add_relevant(ranking([[1, 2, 3, 4], [5, 6, 7, 8]]), relevant([2, 9, 10], [5]))
    assert found.rows.tolist() == [[1, 2, 10, 9], [5, 6, 7, 8]]
    assert (np.diff(found.scores, axis=1) <= 0).all()


def test_a_query_that_cites_more_than_there_are_places_gets_what_fits():
    found = add_relevant(ranking([[1, 2]]), relevant([2, 9, 10]))
    assert set(found.rows[0].tolist()) == {2, 9}


def test_only_the_head_is_reordered():
    scores = np.array([[0.0, 3.0, 2.0, 9.0]], np.float32)
    assert rerank_head(ranking([[1, 2, 3, 4]]), scores, 3).rows.tolist() == [[2, 3, 1, 4]]
    new = rerank_head(ranking([[1, 2, 3, 4]]), scores, 3).scores
    assert (np.diff(new, axis=1) < 0).all()


class Counting:
    """Scores a pair by a function of query and row, and counts what it is asked."""

    name = "counting"

    def __init__(self):
        self.pairs = []

    def score(self, queries, candidates):
        for query, rows in zip(queries, candidates.rows, strict=True):
            self.pairs += [(query.id, row) for row in rows.tolist() if row != NO_ROW]
        seeds = np.array([int(query.id) for query in queries])[:, None]
        return ((candidates.rows * 7 + seeds * 13) % 101).astype(np.float32)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.lists(st.integers(-1, 12), min_size=3, max_size=3)),
        min_size=1,
        max_size=8,
    )
)
def test_no_pair_is_scored_twice_and_scores_are_the_same(calls):
    plain, counting = Counting(), Counting()
    remembered = CachedReranker(counting)
    for query, rows in calls:
        distinct = list(dict.fromkeys(rows)) + [NO_ROW] * 3
        asked, queries = ranking([distinct[:3]]), [Query(str(query))]
        real = asked.rows != NO_ROW
        np.testing.assert_array_equal(
            remembered.score(queries, asked)[real], plain.score(queries, asked)[real]
        )
    assert len(counting.pairs) == len(set(counting.pairs)) == remembered.scored
