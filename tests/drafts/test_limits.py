"""The budget of a reading."""

from __future__ import annotations

import pytest

from cocite.drafts.limits import MAX_STEPS, Budget
from cocite.errors import InputError


def test_steps_are_bounded() -> None:
    budget = Budget("a.tex", steps=MAX_STEPS)
    with pytest.raises(InputError, match=r"a\.tex: the draft has more than 500,000 pieces"):
        budget.step()


def test_time_is_bounded() -> None:
    budget = Budget("a.tex", seconds=-1.0)
    with pytest.raises(InputError, match=r"a\.tex: reading the draft takes more than -1 s"):
        budget.check_time()
    with pytest.raises(InputError, match="takes more than"):
        for _ in range(1024):
            budget.step()
