"""Workers of a cluster that has GPUs: those without any see none, so that they cannot take what others reserved."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import bag_recipe
from helpers.bag_runs import TESTS, TWO_WORKERS, train_bag
from helpers.synthetic import SyntheticCorpora

from cocite_jobs.cluster.connection import scratch_folder

pytestmark = pytest.mark.integration


def test_workers_without_gpus_see_none(
    synthetic: SyntheticCorpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    (tmp_path / "seen").mkdir()
    bag_recipe.register()
    with scratch_folder() as folder:
        # Ray believes in GPUs that it is told of.
        ray.init(
            "local",
            num_cpus=2,
            num_gpus=2,
            include_dashboard=False,
            _temp_dir=str(folder),
            log_to_driver=False,
        )
        try:
            seen = [f"visible_gpus={tmp_path}/seen", "training.steps=2"]
            train_bag(synthetic(60, seed=11), tmp_path / "model", *TWO_WORKERS, "workers.gpus=0", *seen)
        finally:
            ray.shutdown()
            bag_recipe.KINDS.pop("bag")
    assert [(tmp_path / "seen" / rank).read_text() for rank in ("0", "1")] == ["", ""]
