"""Clicks on interleaved answers: what is counted, once, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import InputError, NotFoundError
from cocite_serve.comparison.ledger import COMPARISONS, Ledger, Pair

PAIR = Pair("5f0c", "000001", "7a1d", "000001")
TEAMS = {"a": "served", "b": "beside", "c": "beside", "d": "served", "e": None}


def test_an_answer_is_won_by_the_release_with_more_clicks() -> None:
    ledger = Ledger()
    ledger.register("t", PAIR, TEAMS)
    [comparison] = ledger.comparisons()
    assert (comparison.answers, comparison.ties) == (1, 0)
    outcomes = []
    for paper in "abc":
        ledger.credit("t", paper)
        outcomes.append((comparison.wins["served"], comparison.ties, comparison.wins["beside"]))
    assert outcomes == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    assert comparison.clicks == {"served": 1, "beside": 2}


def test_a_second_click_and_one_on_a_paper_of_neither_say_nothing() -> None:
    ledger = Ledger()
    ledger.register("t", PAIR, TEAMS)
    assert [ledger.credit("t", paper) for paper in "bbe"] == ["beside", None, None]
    assert ledger.comparisons()[0].clicks == {"served": 0, "beside": 1}


def test_what_is_unknown_is_refused() -> None:
    ledger = Ledger()
    ledger.register("t", PAIR, TEAMS)
    with pytest.raises(NotFoundError, match="^token: no interleaved answer has this token"):
        ledger.credit("u", "a")
    with pytest.raises(InputError, match="^paper: the answer does not have this paper"):
        ledger.credit("t", "x")
    assert ledger.comparisons()[0].clicks == {"served": 0, "beside": 0}


def test_memory_is_bounded_and_what_was_counted_stays() -> None:
    ledger = Ledger(papers=12)
    for number in range(30):
        ledger.register(f"t{number}", PAIR, TEAMS)
        ledger.credit(f"t{number}", "b")
    assert len(ledger._answers) == 2
    with pytest.raises(NotFoundError, match="or it is too old"):
        ledger.credit("t27", "c")
    assert ledger.comparisons()[0].wins == {"served": 0, "beside": 30}
    Ledger(papers=2).register("t", PAIR, TEAMS)  # the latest is kept, however long it is


def test_each_pair_of_releases_is_compared_by_itself() -> None:
    ledger = Ledger()
    pairs = [PAIR._replace(beside_model=str(number)) for number in range(COMPARISONS + 2)]
    for number, pair in enumerate(pairs):
        ledger.register(str(number), pair, TEAMS)
    ledger.credit("3", "a")
    found = ledger.comparisons()
    assert [comparison.pair for comparison in found] == pairs[:1:-1]
    assert [sum(comparison.wins.values()) for comparison in found] == [0, 0, 0, 0, 0, 0, 1, 0]


def test_a_pair_that_comes_back_is_the_latest_and_keeps_its_counts() -> None:
    ledger, other = Ledger(), PAIR._replace(beside_model="9c2e")
    for token, pair in (("t", PAIR), ("u", other), ("v", PAIR)):
        ledger.register(token, pair, TEAMS)
    assert [(found.pair, found.answers) for found in ledger.comparisons()] == [(PAIR, 2), (other, 1)]


@given(st.lists(st.tuples(st.sampled_from(["t", "u", "v"]), st.sampled_from("abcde")), max_size=40))
def test_the_counts_are_those_of_the_clicked_papers(clicks: list[tuple[str, str]]) -> None:
    ledger = Ledger()
    for token in "tuv":
        ledger.register(token, PAIR, TEAMS)
    for token, paper in clicks:
        ledger.credit(token, paper)
    expected = {"served": 0, "beside": 0, "tie": 0}
    for token in "tuv":
        papers = {paper for at, paper in clicks if at == token} - {"e"}
        of = [TEAMS[paper] for paper in papers]
        served, beside = of.count("served"), of.count("beside")
        if papers:
            expected["tie" if served == beside else "served" if served > beside else "beside"] += 1
    [comparison] = ledger.comparisons()
    assert {**comparison.wins, "tie": comparison.ties} == expected
