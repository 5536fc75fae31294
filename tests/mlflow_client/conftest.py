"""An MLflow store that the tests of a module share, and the client that MLflow itself has of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cocite_mlflow.connection import TrackingSettings


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackingSettings]:
    """A store in a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield TrackingSettings(folder=tmp_path_factory.mktemp("mlflow"))


@pytest.fixture
def client(tracking: TrackingSettings) -> Any:
    """MLflow's own client of that store."""
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{tracking.folder}/mlflow.db")
