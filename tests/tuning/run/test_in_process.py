"""Trials in the sweep's own process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.sweeps import run_tracked, trial_runs
from helpers.toy_study import TOY

from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, InputError
from cocite_mlflow.runs import MlflowRun
from cocite_tuning.run.in_process import run_in_process
from cocite_tuning.run.mlflow_logger import MlflowLogger
from cocite_tuning.run.trial_runner import TrialRunner, take_in_turn
from cocite_tuning.run.trial_store import TrialStore
from cocite_tuning.studies.study import ReportMetrics
from cocite_tuning.sweep.sweep import Sweep

pytestmark = pytest.mark.usefixtures("mlflow_store")

SWEEP: dict[str, Any] = TOY | {
    "space": {"x": {"uniform": [-3, 3]}, "size": {"uniformint": [1, 9]}},
    "budget": {"trials": 12},
}


class Steps:
    """A study whose trial does what ``do`` says."""

    parameter_types: Mapping[str, Any] = {"do": str}
    in_process = True

    def prepare(self, *, wait: bool = False) -> None:
        pass

    def run(self, params: Mapping[str, Any], report: ReportMetrics, folder: Path) -> dict[str, float]:
        report({"height": 1.0}, 1)
        if params["do"] == "refuse":
            raise InputError("too high", where="toy")
        if params["do"] == "break":
            raise ZeroDivisionError("a defect")
        return {"depth": 2.0} if params["do"] == "forget" else {"height": 2.0, "folder": float(folder.name)}


@contextmanager
def runner_of(empty: Path, *steps: str) -> Iterator[TrialRunner]:
    with TrialStore.opened(empty, Sweep.parse(TOY), "c1", start="new") as store:
        yield TrialRunner(
            store, MlflowLogger(MlflowRun()), take_in_turn([{"do": do} for do in steps]), total=len(steps)
        )


def test_trials_run_one_after_another_each_with_its_folder(empty: Path) -> None:
    with runner_of(empty, "finish", "refuse", "finish") as runner:
        run_in_process(Steps(), runner)
        trials = runner.store.trials.trials
    assert [trial.state for trial in trials] == ["finished", "failed", "finished"]
    assert [trial.metrics.get("folder") for trial in trials] == [0.0, None, 2.0]
    assert trials[1].error == "toy: too high"
    assert all(trial.curve == ((1, {"height": 1.0}),) for trial in trials)


def test_a_defect_ends_the_sweep_and_leaves_the_trial_to_resume(empty: Path) -> None:
    with runner_of(empty, "finish", "break") as runner:
        with pytest.raises(ZeroDivisionError, match="a defect"):
            run_in_process(Steps(), runner)
        assert list(runner.store.running) == [1]


def test_a_study_that_lacks_the_sweeps_metric_is_refused(empty: Path) -> None:
    with (
        runner_of(empty, "forget") as runner,
        pytest.raises(ConfigError, match=r"a trial ends with no metric 'height' \(it has depth\)"),
    ):
        run_in_process(Steps(), runner)


@pytest.mark.integration
def test_failed_trials_are_recorded_and_do_not_end_the_sweep(small: Corpus, empty: Path) -> None:
    space = SWEEP["space"] | {"trouble": {"choice": ["none", "input"]}}  # type: ignore[operator]
    finished = run_tracked(SWEEP | {"space": space}, small, empty)
    failed = [trial for trial in finished.trials.trials if trial.state == "failed"]
    assert 0 < len(failed) < 11
    assert {trial.error for trial in failed} == {"toy: x is not to its liking"}
    run = trial_runs(empty.parent, finished.run_id)[f"trial {failed[0].number:04d}"]
    assert (run.info.status, run.data.tags["state"]) == ("FAILED", "failed")
    assert run.data.tags["error"] == "toy: x is not to its liking"
