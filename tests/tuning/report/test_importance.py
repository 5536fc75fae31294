"""The importance of parameters whose influence is known."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.trials import rate_trials

from cocite_tuning.report.importance import Importance, measure_importance, ranked_columns
from cocite_tuning.report.view import View
from cocite_tuning.sweep.trials import Trial, Trials


def test_importance_finds_what_matters() -> None:
    found = measure_importance(View(rate_trials(120)))
    assert found is not None
    assert found.trials == 119
    assert found.explained > 0.8
    assert found.trusted
    names = [name for name, _, _ in found.parameters]
    losses = {name: loss for name, loss, _ in found.parameters}
    assert names[0] == "model.rate"
    assert losses["model.rate"] > 10 * abs(losses["idle"])
    rng = np.random.default_rng(1)
    noise = [
        Trial(number=i, params={"x": float(rng.uniform())}, metrics={"m": float(rng.normal())})
        for i in range(60)
    ]
    idle = measure_importance(View(Trials(sweep="s", metric="m", trials=tuple(noise))))
    assert idle is not None
    assert not idle.trusted, "noise is not explained"
    assert measure_importance(View(rate_trials(8))) is None


@pytest.mark.parametrize("constant", ["parameter", "metric"])
def test_nothing_is_important_where_nothing_varies(constant: str) -> None:
    trials = [
        Trial(
            number=i,
            params={"x": 1.0 if constant == "parameter" else float(i)},
            metrics={"m": 0.5 if constant == "metric" else float(i)},
        )
        for i in range(20)
    ]
    assert measure_importance(View(Trials(sweep="s", metric="m", trials=tuple(trials)))) is None


def test_columns_are_ranked_by_importance_if_it_is_known() -> None:
    view = View(rate_trials())
    names = [column.name for column in view.columns]
    assert [column.name for column in ranked_columns(view, None)] == names
    losses = tuple((name, 1.0 - i, 0.0) for i, name in enumerate(reversed(names)))
    ranked = ranked_columns(view, Importance(59, 0.9, losses))
    assert [column.name for column in ranked] == names[::-1]
