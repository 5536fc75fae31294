from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.training.engine.schedule import rate_factor, warmup_steps
from cocite.training.engine.settings import ScheduleSettings

SHAPES = ("constant", "linear", "cosine", "inverse-square-root")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("warmup", [0, 7, 0.25])
@pytest.mark.parametrize("start", [0.0, 0.3])
def test_the_rate_follows_the_formula_of_its_shape(shape: str, warmup: float, start: float) -> None:
    total, final = 40, 0.2
    given = {"shape": shape, "warmup": warmup, "final": final, "start": start}
    settings = ScheduleSettings.model_validate(given)
    w = {0: 0, 7: 7, 0.25: 10}[warmup]
    step = np.arange(total)
    x = (step - w) / (total - w)
    after = {
        "constant": np.ones(total),
        "linear": 1 - (1 - final) * x,
        "cosine": final + (1 - final) * 0.5 * (1 + np.cos(np.pi * x)),
        "inverse-square-root": np.sqrt(max(w, 1) / (step + 1)),
    }[shape]
    expected = np.where(step < w, start + (1 - start) * (step + 1) / max(w, 1), after)
    np.testing.assert_allclose([rate_factor(settings, s, total) for s in step], expected, rtol=1e-12)


@given(st.sampled_from(SHAPES), st.integers(0, 30), st.integers(1, 50))
def test_it_rises_to_the_peak_and_never_again(shape: str, warmup: int, total: int) -> None:
    settings = ScheduleSettings.model_validate({"shape": shape, "warmup": warmup})
    rates = [rate_factor(settings, step, total) for step in range(total)]
    rise = min(warmup, total)
    assert all(0 < rate <= 1 for rate in rates)
    assert all(a < b for a, b in pairwise(rates[:rise]))
    assert all(a >= b for a, b in pairwise(rates[rise:]))


def test_beyond_the_end_it_stays_where_it_was() -> None:
    settings = ScheduleSettings(shape="linear", warmup=0, final=0.1)
    assert rate_factor(settings, 500, 10) == pytest.approx(0.1)


def test_a_share_below_one_is_of_all_steps() -> None:
    assert warmup_steps(ScheduleSettings(warmup=0.1), 200) == 20
    assert warmup_steps(ScheduleSettings(warmup=1), 200) == 1
