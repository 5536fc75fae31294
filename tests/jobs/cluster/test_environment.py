from __future__ import annotations

import os

import pytest

from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.environment import default_environment
from cocite_jobs.training.on_ray import _variables


def test_the_users_environment_takes_precedence_and_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = _variables(WorkerSettings(timeout=90))
    assert variables["RAY_TRAIN_COLLECTIVE_TIMEOUT_S"] == "90"
    for name in variables:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_CHDIR_TO_TRIAL_DIR", "1")
    with default_environment(variables):
        assert os.environ["RAY_CHDIR_TO_TRIAL_DIR"] == "1"
        assert os.environ["RAY_TRAIN_COLLECTIVE_TIMEOUT_S"] == "90"
    assert [name for name in variables if name in os.environ] == ["RAY_CHDIR_TO_TRIAL_DIR"]
