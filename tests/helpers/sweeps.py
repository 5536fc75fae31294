"""Runs sweeps as the tests do, and reads what MLflow kept of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite_mlflow.connection import TrackingSettings
from cocite_tuning.run.driver import Manner, Swept, planned, tune
from cocite_tuning.run.trial_runner import Listener
from cocite_tuning.sweep.sweep import Sweep


def run_sweep(
    settings: Mapping[str, Any], corpus: Corpus, to: Path, how: str = "new", listener: Listener | None = None
) -> Swept:
    """A sweep, tracked beside its folder."""
    manner = Manner(start=how, tracking=TrackingSettings(folder=to.parent))  # type: ignore[arg-type]
    return tune(planned(Sweep.parse(dict(settings)), str(corpus.path), to), manner, listener)


def runs_of(store: Path, parent: str) -> dict[str, Any]:
    """The trials' runs by name, each once."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{store}/mlflow.db")
    experiment = client.get_experiment_by_name("tune").experiment_id
    found = [run for run in client.search_runs([experiment]) if run.info.run_id != parent]
    assert all(run.data.tags["mlflow.parentRunId"] == parent for run in found)
    names = [run.info.run_name for run in found]
    assert len(names) == len(set(names))
    return dict(zip(names, found, strict=True))
