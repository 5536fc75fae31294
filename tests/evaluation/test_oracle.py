import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import measure
from cocite.evaluation.oracle import CachedReranker, add_relevant, rerank_head
from cocite.evaluation.report import MarkedFloat, format_cell, marked_table
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


def test_marks_tell_what_is_significantly_better_or_worse():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 50, (60, 1))
    cited = relevant(*[[1000 + i] for i in range(60)])

    def system(shift):
        rows = np.tile(np.arange(100), (60, 1))
        places = np.clip(first[:, 0] + shift, 0, 99)
        rows[np.arange(60), places] = 1000 + np.arange(60)
        return measure(Hits.of(ranking(rows), cited), ["MRR", "R@100"])

    table = marked_table(
        "t", {"base": system(5), "good": system(0), "bad": system(30)}, "base", more={"ms": [1.0, 2.0, 3.0]}
    )
    assert table.columns == ["system", "MRR", "R@100", "ms"]
    marks = {row[0]: [cell.mark for cell in row[1:3]] for row in table.rows}
    assert marks == {"base": ["", ""], "good": ["*", ""], "bad": ["-", ""]}
    assert format_cell(MarkedFloat(0.5, "*")) == "0.500*"
    assert table.records()[1]["MRR"] == float(table.rows[1][1])
