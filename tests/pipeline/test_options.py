"""Options: which are refused, which years they leave to a query, and how queries are told apart by kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import InputError
from cocite.pipeline.options import QUERY_KINDS, Candidates, Options, by_kind
from cocite.protocols import Query, Ranking


def test_impossible_options_are_refused() -> None:
    with pytest.raises(InputError, match="later than"):
        Options(year_from=2020, year_to=2010)
    with pytest.raises(InputError, match="at least 1"):
        Options(top_k=0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"depth": 0}, "depth = 0 must be a whole number of at least 1"),
        ({"rerank": -1}, "rerank = -1 must be a whole number of at least 0"),
        ({"top_k": 2.5}, "top_k = 2.5 must be a whole number"),
        ({"cross_weight": 1.5}, "cross_weight = 1.5 must be from 0 to 1"),
    ],
)
def test_numbers_out_of_bounds_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Options(**values)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_whole_numbers() -> None:
    assert Options(top_k=np.int64(3), rerank=np.int32(0)).top_k == 3


@given(st.lists(st.booleans(), max_size=9))
def test_kinds_part_the_queries(local: list[bool]) -> None:
    queries = [Query(str(i), context="as [CIT]" if gap else "") for i, gap in enumerate(local)]
    parts = dict(by_kind(queries))
    assert list(parts) == [kind for kind in QUERY_KINDS if kind in parts]
    assert sorted(i for positions in parts.values() for i in positions) == list(range(len(queries)))
    assert all(local[i] == (kind == "local") for kind, positions in parts.items() for i in positions)
    assert all(positions == sorted(positions) and positions for positions in parts.values())


def test_older_candidates_are_limited_by_each_querys_year() -> None:
    queries = [Query("a", year=2000), Query("b"), Query("c", year=2010)]
    years = [query.candidates_until for query in Options(candidates="older").restricted(queries)]
    assert years == [2000, None, 2010]
    for options in (Options(), Options(candidates="all"), Options(candidates="older", year_to=2005)):
        assert options.restricted(queries) == queries
    with pytest.raises(InputError, match="year_from 2005 is later than the query's year, 2000"):
        Options(candidates="older", year_from=2005).restricted(queries)


def test_the_top_are_the_candidates_that_have_signals() -> None:
    ranking = Ranking(np.array([[4, 2, 9]], np.int32), np.array([[3, 2, 1]], np.float32))
    candidates = Candidates(ranking, {"x": np.zeros((1, 2), np.float32)})
    assert (candidates.depth, candidates.top.rows.tolist()) == (2, [[4, 2]])
    assert Candidates(ranking).depth == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"offset": -1}, "offset = -1 must be a whole number of at least 0"),
        ({"popularity": 1.5}, "popularity = 1.5 must be from 0 to 1"),
        ({"diversity": -0.1}, "diversity = -0.1 must be from 0 to 1"),
        ({"diversity": float("nan")}, "diversity = nan must be from 0 to 1"),
        ({"weights": (("sentence", -1.0),)}, "the weight of 'sentence', -1.0, must be from 0 to 1000"),
        ({"weights": (("sentence", float("inf")),)}, "the weight of 'sentence', inf, must be"),
    ],
)
def test_shares_weights_and_offsets_out_of_bounds_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Options(**values)
