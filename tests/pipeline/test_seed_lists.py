"""Lists of seeds as users give them."""

from __future__ import annotations

import pytest

from cocite.errors import InputError
from cocite.pipeline.seed_lists import MOST, checked_seeds


def test_each_seed_counts_once() -> None:
    assert checked_seeds([3] * (MOST + 1), [], ids=list) == ((3,), ())


@pytest.mark.parametrize("name", ["like", "dislike"])
def test_a_list_has_a_greatest_length(name: str) -> None:
    rows = list(range(MOST + 1))
    like, dislike = (rows, []) if name == "like" else ([], rows)
    with pytest.raises(InputError, match=f"^{name}: at most 50 papers are allowed, got 51$"):
        checked_seeds(like, dislike, ids=list)
