"""The sign test, against numbers that can be counted by hand."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.comparison.sign_test import sign_test


def test_ten_of_ten_by_hand() -> None:
    test = sign_test(served=0, beside=10)
    assert test.p == pytest.approx(2 / 2**10)
    assert (test.share, test.high) == (1.0, 1.0)
    assert test.low == pytest.approx(0.025 ** (1 / 10))


@given(st.integers(0, 60), st.integers(0, 60))
def test_p_is_the_two_tails_of_the_fair_coin(served: int, beside: int) -> None:
    test, other = sign_test(served, beside), sign_test(beside, served)
    wins = served + beside
    tail = sum(comb(wins, count) for count in range(min(served, beside) + 1)) / 2**wins
    assert test.p == pytest.approx(min(1.0, 2 * tail))
    assert other.p == pytest.approx(test.p)
    assert test.low == pytest.approx(1 - other.high)
    if test.share is not None:
        assert test.low <= test.share <= test.high
