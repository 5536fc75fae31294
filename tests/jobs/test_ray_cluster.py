"""What is refused before any Ray is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cocite.errors import ConfigError, InputError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.connection import SCRATCH, ray_connection, scratch_folder
from cocite_jobs.cluster.resources import check_resources, worker_range, worker_resources

NODES = [{"CPU": 8.0, "GPU": 2.0, "memory": 1e9}, {"CPU": 4.0}]


def asked(count: int | tuple[int, int], cpus: float = 1, gpus: float = 0) -> WorkerSettings:
    return WorkerSettings(count=count, cpus=cpus, gpus=gpus)


@pytest.mark.parametrize(
    "workers", [asked(12), asked(2, 4, 1), asked((2, 64), 4), asked(4, 2, 0.5), asked(3, 4), asked(79, 0.15)]
)
def test_what_fits_is_let_through(workers: WorkerSettings) -> None:
    check_resources(workers, NODES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("workers", "sentence"),
    [
        (
            asked(4, 1, 1),
            r"^workers: 4 x 1 GPU are asked for, and the cluster has 2 \(lower workers.count, workers.gpus",
        ),
        (
            asked((13, 20)),
            r"^workers: 13 x 1 CPU are asked for, and the cluster has 12 \(lower workers.count, workers.c",
        ),
        (asked(2, 6), r"^workers: 2 workers are asked for, and the cluster's nodes have room for 1 \(lower"),
        (asked(2, 5, 1), r"room for 1"),
    ],
)
def test_what_cannot_be_placed_is_told(workers: WorkerSettings, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check_resources(workers, NODES)  # type: ignore[arg-type]


def test_the_number_of_workers_is_a_number() -> None:
    assert worker_range(asked(3)) == (3, 3)
    assert worker_range(asked((1, 4))) == (1, 4)
    with pytest.raises(ConfigError, match=r"workers\.count: 0 is no number of workers"):
        worker_range(asked(0))
    for count in (-1, (0, 2), (3, 2)):
        with pytest.raises(ConfigError, match=r"^count"):
            WorkerSettings.parse({"count": count})
    assert worker_resources(asked(1, 2)) == {"CPU": 2}
    assert worker_resources(asked(1, 2, 0.5)) == {"CPU": 2, "GPU": 0.5}


@pytest.mark.parametrize("address", ["ray://head:10001", "http://head:8265"])
def test_a_cluster_that_is_reached_by_jobs_is_told(address: str) -> None:
    with pytest.raises(InputError, match="use cocite job submit"), ray_connection(address):
        pass


def test_scratch_of_killed_processes_is_cleared_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder() as mine:
        for name in ("left", "young"):
            (tmp_path / f"{SCRATCH}{name}" / "session").mkdir(parents=True)
        for folder in (mine, tmp_path / f"{SCRATCH}left"):
            os.utime(folder, (0, 0))
        with scratch_folder() as other:
            assert {path.name for path in tmp_path.iterdir()} == {mine.name, other.name, f"{SCRATCH}young"}
    assert [path.name for path in tmp_path.iterdir()] == [f"{SCRATCH}young"]


def test_an_address_of_the_environment_where_nobody_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with (
        pytest.raises(InputError, match="^RAY_ADDRESS: no Ray cluster answers at 127.0.0.1:1 "),
        ray_connection(),
    ):
        pass


def test_a_folder_that_is_too_long_for_rays_sockets_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with (
        pytest.raises(InputError, match=r"the path of its folder is too long for a socket \(set TMPDIR, or"),
        ray_connection(),
    ):
        pass
