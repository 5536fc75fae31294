"""What sweeps that keep their runs in MLflow need."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def mlflow_store(tmp_path: Path, mlflow_tables: Path) -> None:
    """A test's folder holds a store of MLflow without runs, in which a sweep below it keeps its runs."""
    shutil.copy(mlflow_tables, tmp_path)
