"""Lists of tokens: taken, cut, joined and stacked, as Python lists would be."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.text.token_lists import TokenLists, spans, token_runs

LISTS = st.lists(st.lists(st.integers(0, 99), max_size=6), min_size=1, max_size=6)


def as_lists(tokens: TokenLists) -> list[list[int]]:
    return [tokens[i].tolist() for i in range(len(tokens))]


@given(LISTS, st.integers(0, 7), st.data())
def test_lists_are_cut_and_taken_as_python_lists(
    lists: list[list[int]], limit: int, data: st.DataObject
) -> None:
    tokens = TokenLists.of(lists)
    order = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    taken = tokens.take(np.array(order, np.int64))
    assert as_lists(taken) == [lists[i] for i in order]
    assert as_lists(taken.head(limit)) == [lists[i][:limit] for i in order]
    assert as_lists(taken.tail(limit)) == [
        lists[i][len(lists[i]) - min(limit, len(lists[i])) :] for i in order
    ]


@given(st.integers(1, 5), st.data())
def test_lists_are_joined_and_stacked_as_python_lists(count: int, data: st.DataObject) -> None:
    parts = data.draw(
        st.lists(
            st.lists(st.lists(st.integers(0, 99), max_size=5), min_size=count, max_size=count),
            min_size=1,
            max_size=4,
        )
    )
    tokens = [TokenLists.of(part).tail(3) for part in parts]
    cut = [[one[len(one) - min(3, len(one)) :] for one in part] for part in parts]
    assert as_lists(TokenLists.joined(tokens)) == [
        list(itertools.chain(*each)) for each in zip(*cut, strict=True)
    ]
    stacked = TokenLists.stacked(tokens)
    assert as_lists(stacked) == [one for part in cut for one in part]
    assert len(stacked.ids) == sum(map(len, as_lists(stacked))), "tokens that were cut are not kept"
    assert len(TokenLists.stacked([])) == 0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8))
def test_spans_are_ranges_one_after_the_other(runs: list[tuple[int, int]]) -> None:
    starts, counts = (np.array([run[i] for run in runs], np.int64) for i in (0, 1))
    assert spans(starts, counts).tolist() == [i for start, count in runs for i in range(start, start + count)]


def test_lists_are_joined_and_cut_without_copies_of_what_is_taken_twice() -> None:
    lists = TokenLists.of([[1, 2, 3], [], [4]])
    assert [lists.take(np.array([2, 0, 2]))[i].tolist() for i in range(3)] == [[4], [1, 2, 3], [4]]
    assert lists.take(np.array([0, 0])).ids is lists.ids
    assert lists.tail(2)[0].tolist() == [2, 3]
    joined = TokenLists.joined([lists, lists.head(1)])
    assert [joined[i].tolist() for i in range(3)] == [[1, 2, 3, 1], [], [4, 4]]
    assert len(TokenLists.of([])) == 0


@given(st.lists(st.integers(0, 9)), st.integers(1, 20))
def test_runs_keep_the_order_and_the_budget(lengths: list[int], tokens: int) -> None:
    runs = [lengths[run] for run in token_runs(np.array(lengths, np.int64), tokens)]
    assert [length for run in runs for length in run] == lengths
    for run, after in zip(runs, [*runs[1:], []], strict=False):
        assert run
        assert sum(run) <= tokens or np.count_nonzero(run) == 1
        assert not after or sum(run) + after[0] > tokens  # none is shorter than it has to be
