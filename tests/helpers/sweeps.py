"""Runs sweeps as the tests do, and reads what MLflow kept of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite_mlflow.connection import TrackingSettings
from cocite_tuning.run.callback import SweepCallback
from cocite_tuning.run.driver import FinishedSweep, SweepOptions, run_sweep
from cocite_tuning.run.plan import plan_sweep
from cocite_tuning.sweep.sweep import Sweep


def run_tracked(
    settings: Mapping[str, Any],
    corpus: Corpus,
    to: Path,
    start: str = "new",
    callback: SweepCallback | None = None,
) -> FinishedSweep:
    """Run a sweep, with MLflow's store beside the sweep's folder."""
    options = SweepOptions(start=start, tracking=TrackingSettings(folder=to.parent))  # type: ignore[arg-type]
    return run_sweep(plan_sweep(Sweep.parse(dict(settings)), str(corpus.path), to), options, callback)


def run_untracked(settings: Mapping[str, Any], corpus: Corpus, to: Path, start: str = "new") -> FinishedSweep:
    """Run a sweep without MLflow."""
    options = SweepOptions(start=start, tracking=TrackingSettings(enabled=False))  # type: ignore[arg-type]
    return run_sweep(plan_sweep(Sweep.parse(dict(settings)), str(corpus.path), to), options)


def trial_runs(store: Path, parent: str) -> dict[str, Any]:
    """Name -> MLflow run of each trial of a sweep.

    Args:
        store: the folder of ``mlflow.db``.
        parent: id of the sweep's run.
    """
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{store}/mlflow.db")
    experiment = client.get_experiment_by_name("tune").experiment_id
    runs = [run for run in client.search_runs([experiment]) if run.info.run_id != parent]
    assert all(run.data.tags["mlflow.parentRunId"] == parent for run in runs)
    names = [run.info.run_name for run in runs]
    assert len(names) == len(set(names))
    return dict(zip(names, runs, strict=True))
