"""The runs of trials within a sweep's run, started, resumed and closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.sweeps import trial_runs

from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.runs import start_run
from cocite_tuning.run.mlflow_logger import MlflowLogger
from cocite_tuning.run.trial_store import RunningTrial
from cocite_tuning.sweep.trials import Trial, Trials

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_store")]


def trials_of(*trials: Trial) -> Trials:
    return Trials(sweep="toy", metric="height", trials=trials)


def history(folder: Path, run: Any, metric: str) -> list[tuple[int, float]]:
    """(step, value) of a metric of a run."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    return [(entry.step, entry.value) for entry in client.get_metric_history(run.info.run_id, metric)]


def test_a_resumed_trial_continues_its_run_and_logs_each_step_once(tmp_path: Path) -> None:
    with start_run("sweep", experiment="tune", tracking=TrackingSettings(folder=tmp_path)) as run:
        logger = MlflowLogger(run)
        trial = RunningTrial(4, {"x": 1.5}, "short")
        first_id = logger.start(trial)
        assert logger.start(trial) == first_id  # Ray may start a trial twice
        logger.log_metrics(4, {"height": 0.25}, 1)
        logger.close()
        assert trial_runs(tmp_path, run.id)["trial 0004"].info.status == "KILLED"

        # The store has a step that did not reach MLflow before the process died.
        trial.curve = [(1, {"height": 0.25}), (2, {"height": 0.5})]
        resumed = MlflowLogger(run, resumed=True)
        assert resumed.start(trial) == first_id
        resumed.log_metrics(4, {"height": 0.75}, 3)
        done = Trial(number=4, params={"x": 1.5}, metrics={"height": 0.75}, curve=((1, {"height": 0.25}),))
        resumed.finish(done, trials_of(done))
        mlflow_run = trial_runs(tmp_path, run.id)["trial 0004"]
        parent = run.id
    assert mlflow_run.info.status == "FINISHED"
    assert mlflow_run.data.tags["phase"] == "short"
    assert mlflow_run.data.tags["state"] == "finished"
    assert mlflow_run.data.params == {"x": "1.5"}
    assert history(tmp_path, mlflow_run, "height") == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert mlflow_run.data.metrics["best.height"] == 0.75
    assert mlflow_run.data.tags["mlflow.parentRunId"] == parent


def test_failed_trials_are_marked_and_the_best_value_is_in_the_sweeps_run(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    with start_run("sweep", experiment="tune", tracking=TrackingSettings(folder=tmp_path)) as run:
        logger, ended = MlflowLogger(run), []
        for number, height in enumerate((0.3, None, 0.2, 0.4)):
            logger.start(RunningTrial(number, {"x": number}))
            ended.append(
                Trial(number=number, params={"x": number}, state="failed", error="e" * 600)
                if height is None
                else Trial(number=number, params={"x": number}, metrics={"height": height})
            )
            logger.finish(ended[-1], trials_of(*ended))
        runs = trial_runs(tmp_path, run.id)
        parent = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db").get_run(run.id)
    assert (runs["trial 0001"].info.status, runs["trial 0001"].data.tags["error"]) == ("FAILED", "e" * 500)
    assert runs["trial 0000"].data.metrics == {"height": 0.3}  # without a curve there is no prefix
    assert history(tmp_path, parent, "best.height") == [(0, 0.3), (3, 0.4)]
