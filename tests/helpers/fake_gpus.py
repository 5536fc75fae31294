"""A Ray of this machine that believes in GPUs, because it is told of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


@contextmanager
def ray_with_gpus(monkeypatch: pytest.MonkeyPatch, *, gpus: int, cpus: int = 2) -> Iterator[None]:
    """A Ray that cocite has not started, and so takes for a cluster that may grow, until the block ends."""
    import ray

    from cocite_jobs.cluster.connection import scratch_folder

    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=":")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    with scratch_folder() as folder:
        ray.init(
            "local",
            num_cpus=cpus,
            num_gpus=gpus,
            include_dashboard=False,
            _temp_dir=str(folder),
            log_to_driver=False,
        )
        try:
            yield
        finally:
            ray.shutdown()
