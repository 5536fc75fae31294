"""The functions that a sweep calls as it progresses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.toy_study import TOY

from cocite.corpus.store import Corpus
from cocite_mlflow.connection import TrackingSettings
from cocite_tuning.run.callback import SweepCallback
from cocite_tuning.run.driver import SweepOptions, run_sweep
from cocite_tuning.run.plan import plan_sweep
from cocite_tuning.sweep.sweep import Sweep
from cocite_tuning.sweep.trials import Trial, Trials


def test_by_default_nothing_happens() -> None:
    callback = SweepCallback()
    callback.on_stage("trials", 3)
    callback.on_trial_end(Trial(number=0, params={}), Trials(sweep="s", metric="m"))
    callback.on_trial_restart(0)


def test_a_sweep_calls_with_its_stages_and_each_trial_that_ends(small: Corpus, empty: Path) -> None:
    calls: list[Any] = []
    callback = SweepCallback(
        on_stage=lambda name, total: calls.append((name, total)),
        on_trial_end=lambda trial, trials: calls.append((trial.number, len(trials.trials))),
    )
    plan = plan_sweep(Sweep.parse(TOY | {"budget": {"trials": 2}}), str(small.path), empty)
    run_sweep(plan, SweepOptions(tracking=TrackingSettings(enabled=False)), callback)
    assert calls == [
        ("preparing", 0), ("trials", 2), (0, 1), (1, 2), ("what the best one is worth", 0), ("the report", 0),
    ]  # fmt: skip


def test_an_error_of_a_function_ends_the_sweep_after_the_trial_was_recorded(
    small: Corpus, empty: Path
) -> None:
    def fail(trial: Trial, trials: Trials) -> None:
        raise RuntimeError("the terminal is gone")

    plan = plan_sweep(Sweep.parse(TOY | {"budget": {"trials": 2}}), str(small.path), empty)
    with pytest.raises(RuntimeError, match="the terminal is gone"):
        run_sweep(
            plan, SweepOptions(tracking=TrackingSettings(enabled=False)), SweepCallback(on_trial_end=fail)
        )
    assert len(Trials.read(empty / "trials.json").trials) == 1
