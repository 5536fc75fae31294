"""Signals of queries: nothing of a query's own paper is in them, and what padding and scales are."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.pipeline_queries import queries_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.pipeline.dense_signals import DenseSignals
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.query_signals import scaled
from cocite.pipeline.signals import Signals
from cocite.protocols import NO_ROW, Ranking
from cocite.retrieval.index.index import Index


@pytest.mark.parametrize("context", [False, True])
def test_an_indexed_manuscript_does_not_vote_for_itself(corpus: Corpus, whole: Index, context: bool) -> None:
    """Signals of a paper whose links the index knows are those of an index that does not know them.

    Corpus statistics (the rarity of words in contexts) differ a little between the two; counts do not.
    """
    row = int(np.argmax(corpus.cites.degrees * (np.bincount(corpus.context_citing, minlength=600) > 0)))
    queries = queries_of(corpus, [row], context=context)
    citing = np.ones(len(corpus), bool)
    citing[row] = False
    without = whole.with_history(History(corpus, citing))
    every = Ranking(np.arange(600, dtype=np.int32)[None], np.zeros((1, 600), np.float32))
    known, unknown = (DenseSignals(Signals(index), queries).at(every) for index in (whole, without))
    cited = corpus.cites[row]
    for name in known:
        if name in ("first-stage", "age"):
            continue
        a, b = known[name][0, cited], unknown[name][0, cited]
        exact = name.startswith(
            ("in-cit", "recent", "contexts", "past", "venue", "shared", "citations", "neigh")
        )
        np.testing.assert_allclose(
            a, b, rtol=1e-5 if exact else 0.15, atol=1e-5 if exact else 0.35, err_msg=name
        )


def test_padding_has_zeros_and_a_paper_without_a_year_has_no_age(
    corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    block = DenseSignals(first.signals, queries_of(corpus, later[:1], context=True))
    rows = np.array([[3, NO_ROW]], np.int32)
    values = block.at(Ranking(rows, np.array([[0.5, -np.inf]], np.float32)))
    assert values["first-stage"].tolist() == [[0.5, 0]]
    assert all(matrix[0, 1] == 0 for matrix in values.values())
    assert values["age"][0, 0] == corpus.paper(later[0]).year - corpus.paper(3).year


@given(
    npst.arrays(
        np.float32, st.tuples(st.integers(1, 3), st.integers(0, 5)), elements=st.floats(-9, 9, width=32)
    )
)
def test_scaling_makes_the_best_one_and_keeps_the_order(scores: NDArray[np.float32]) -> None:
    result = scaled(scores)
    assert result.shape == scores.shape
    for row, values in zip(scores, result, strict=True):
        if len(row) and row.max() > 0:
            np.testing.assert_allclose(values, row / row.max(), rtol=1e-6)
        else:
            assert not values.any()
