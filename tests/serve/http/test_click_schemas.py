"""The form in which a comparison is told."""

from __future__ import annotations

from cocite_serve.comparison.ledger import Comparison, Pair
from cocite_serve.http.click_schemas import to_schema


def test_without_a_win_there_is_no_share() -> None:
    told = to_schema(Comparison(Pair("", "000001", "7a1d", "000001"), ties=3))
    assert (told.p, told.share, told.interval, told.ties) == (1.0, None, (0.0, 1.0), 3)
