"""The metric against each parameter, and the importances."""

from __future__ import annotations

from helpers.trials import rate_trials

from cocite_tuning.report.importance import Importance
from cocite_tuning.report.parameter_plots import importances, slices
from cocite_tuning.report.view import View
from cocite_tuning.sweep.trials import Trials


def test_each_parameter_has_a_slice() -> None:
    svg = slices(View(rate_trials()))
    assert svg is not None
    assert 'aria-label="MRR of each trial against each of 4 parameters"' in svg
    assert all(f">{label}<" in svg for label in ("rate", "kind", "idle", "inner"))


def test_without_trials_there_are_no_slices() -> None:
    assert slices(View(Trials(sweep="s", metric="m"))) is None


def test_the_bars_name_their_parameters_and_losses() -> None:
    losses = (("model.rate", 0.9, 0.1), ("kind", 0.2, 0.05), ("idle", 0.0, 0.0), ("inner", -0.01, 0.0))
    svg = importances(View(rate_trials()), Importance(59, 0.8, losses))
    assert svg is not None
    assert 'aria-label="Importance of model.rate 0.90, kind 0.20, idle 0.00, inner -0.01"' in svg
    assert ">rate<" in svg
