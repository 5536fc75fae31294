"""Shares of requests and of clients."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.comparison.shares import EvenShare, has_client


@given(st.floats(0, 1), st.integers(1, 300))
def test_of_any_requests_in_a_row_the_share_is_taken(share: float, count: int) -> None:
    even = EvenShare(share)
    taken = sum(even.is_next() for _ in range(count))
    assert abs(taken - share * count) <= 1 + 1e-6


def test_none_and_all() -> None:
    assert not any(EvenShare(0).is_next() for _ in range(50))
    every = EvenShare(1)
    assert all(every.is_next() for _ in range(50))


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_a_client_stays_and_a_larger_share_takes_no_client_away(client: str, one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert has_client(low, client, "x") == has_client(low, client, "x")
    assert has_client(high, client, "x") >= has_client(low, client, "x")
    assert not has_client(0, client, "x")
    assert has_client(1, client, "x")


def test_another_experiment_has_other_clients() -> None:
    names = [f"client {number}" for number in range(4000)]
    one, two = ({name for name in names if has_client(0.5, name, x)} for x in ("one", "two"))
    assert 1850 < len(one) < 2150
    assert 850 < len(one & two) < 1150, "half of them, by chance"
