"""Parallel coordinates."""

from __future__ import annotations

from helpers.trials import rate_trials

from cocite_tuning.report.importance import Importance
from cocite_tuning.report.parallel_plot import AXES, parallel
from cocite_tuning.report.view import View
from cocite_tuning.sweep.trials import Trial, Trials


def test_every_axis_has_its_name_and_unset_parameters_their_place() -> None:
    svg = parallel(View(rate_trials()))
    assert svg is not None
    for text in ("rate", "kind", "idle", "inner", "MRR", "unset"):
        assert f">{text}</" in svg or f">\n{text}</" in svg or text in svg
    assert 'aria-label="Parallel coordinates of 59 trials; the best one stands out"' in svg


def test_the_most_important_parameters_are_drawn() -> None:
    names = [f"p{i}" for i in range(AXES + 3)]
    trials = tuple(
        Trial(number=n, params={name: n * (i + 1) for i, name in enumerate(names)}, metrics={"m": float(n)})
        for n in range(4)
    )
    view = View(Trials(sweep="s", metric="m", trials=trials))
    last_first = tuple((name, float(i), 0.0) for i, name in reversed(list(enumerate(names))))
    svg = parallel(view, Importance(4, 0.5, last_first))
    assert svg is not None
    assert all(f">{name}<" in svg for name in names[3:])
    assert all(f">{name}<" not in svg for name in names[:3])


def test_one_trial_or_no_parameter_has_no_figure() -> None:
    one = (Trial(number=0, params={"x": 1}, metrics={"m": 1.0}),)
    assert parallel(View(Trials(sweep="s", metric="m", trials=one))) is None
    same = tuple(Trial(number=i, params={"x": 1}, metrics={"m": float(i)}) for i in range(3))
    assert parallel(View(Trials(sweep="s", metric="m", trials=same))) is None
