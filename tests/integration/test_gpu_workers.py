"""Workers of a cluster that has GPUs: those without any see none, so that they cannot take what others reserved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import bag_recipe
from helpers.bag_runs import TESTS, TWO_WORKERS, train_bag
from helpers.squares import VisibleGpus, parts
from helpers.synthetic import SyntheticCorpora

from cocite_jobs.cluster.connection import scratch_folder
from cocite_jobs.steps.parts import FinishedParts
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.location import Location

pytestmark = pytest.mark.integration


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A private Ray that believes in two GPUs, because it is told of them."""
    import ray

    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    with scratch_folder() as folder:
        ray.init(
            "local",
            num_cpus=2,
            num_gpus=2,
            include_dashboard=False,
            _temp_dir=str(folder),
            log_to_driver=False,
        )
        try:
            yield
        finally:
            ray.shutdown()


@pytest.mark.usefixtures("two_gpus")
def test_workers_without_gpus_see_none(synthetic: SyntheticCorpora, tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    bag_recipe.register()
    try:
        seen = [f"visible_gpus={tmp_path}/seen", "training.steps=2"]
        train_bag(synthetic(60, seed=11), tmp_path / "model", *TWO_WORKERS, "workers.gpus=0", *seen)
    finally:
        bag_recipe.KINDS.pop("bag")
    assert [(tmp_path / "seen" / rank).read_text() for rank in ("0", "1")] == ["", ""]


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(("gpus", "seen"), [(0.0, {""}), (1.0, {"0", "1"}), (None, {"0", "1"})])
def test_the_parts_of_a_step_see_the_gpus_reserved_for_them(
    tmp_path: Path, gpus: float | None, seen: set[str]
) -> None:
    finished = FinishedParts(Location.of(tmp_path / "parts"), "gpus")
    results = run_parts(VisibleGpus(), parts(4), finished, Workers(on="ray", count=2, gpus=gpus))
    assert {result["seen"] for result in results} <= seen
