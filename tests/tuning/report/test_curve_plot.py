"""Learning curves."""

from __future__ import annotations

from helpers.trials import depth_trials, rate_trials

from cocite_tuning.report.curve_plot import CURVES, curves
from cocite_tuning.report.view import View
from cocite_tuning.sweep.trials import Trial, Trials


def test_each_trial_with_a_curve_is_drawn() -> None:
    svg = curves(View(rate_trials()))
    assert svg is not None
    assert 'aria-label="MRR by step of 59 trials; the best one stands out"' in svg
    assert curves(View(depth_trials())) is None


def test_a_curve_without_the_sweeps_metric_shows_its_first() -> None:
    trial = Trial(
        number=0, params={"x": 1}, metrics={"m": 0.5}, curve=((1, {"loss": 2.0}), (2, {"loss": 1.0}))
    )
    svg = curves(View(Trials(sweep="s", metric="m", trials=(trial,))))
    assert svg is not None
    assert 'aria-label="loss by step of 1 trials' in svg


def test_unfinished_trials_end_with_a_cross_and_many_are_thinned() -> None:
    def trial(number: int, **more: object) -> Trial:
        curve = tuple((step, {"m": number / 1000 + step / 10}) for step in (1, 2))
        return Trial(number=number, params={"x": number}, metrics={"m": number / 1000}, curve=curve, **more)  # type: ignore[arg-type]

    finished = [trial(i) for i in range(CURVES + 20)]
    many = curves(View(Trials(sweep="s", metric="m", trials=tuple(finished))))
    assert many is not None
    assert f"m by step of {CURVES} trials" in many
    two = [trial(0), trial(1)]
    plain = curves(View(Trials(sweep="s", metric="m", trials=tuple(two))))
    crossed = curves(
        View(Trials(sweep="s", metric="m", trials=(two[0], two[1].model_copy(update={"state": "stopped"}))))
    )
    assert plain is not None
    assert crossed is not None
    assert crossed.count("<use") > plain.count("<use")
