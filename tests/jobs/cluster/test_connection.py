from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cocite.errors import InputError
from cocite_jobs.cluster.connection import SCRATCH, joins_cluster, ray_connection, scratch_folder


@pytest.mark.parametrize("address", ["ray://head:10001", "http://head:8265"])
def test_the_address_of_a_dashboard_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="use cocite job submit"), ray_connection(address):
        pass


def test_scratch_folders_of_killed_processes_are_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder() as mine:
        for name in ("left", "new"):
            (tmp_path / f"{SCRATCH}{name}" / "session").mkdir(parents=True)
        for folder in (mine, tmp_path / f"{SCRATCH}left"):
            os.utime(folder, (0, 0))
        with scratch_folder() as other:
            assert {path.name for path in tmp_path.iterdir()} == {mine.name, other.name, f"{SCRATCH}new"}
    assert [path.name for path in tmp_path.iterdir()] == [f"{SCRATCH}new"]


def test_an_address_of_the_environment_where_no_cluster_answers_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with (
        pytest.raises(InputError, match="^RAY_ADDRESS: no Ray cluster answers at 127.0.0.1:1 "),
        ray_connection(),
    ):
        pass


def test_a_folder_that_is_too_long_for_rays_sockets_is_refused(
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


@pytest.mark.integration
def test_a_private_ray_ends_with_its_connection_and_a_nested_connection_uses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ray

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with ray_connection() as outer:
        session = ray.get_runtime_context().get_job_id()
        assert not joins_cluster("10.0.0.1:6379")  # for it is connected already
        with ray_connection("local") as inner:
            assert ray.get_runtime_context().get_job_id() == session
            assert inner != outer
        assert ray.is_initialized()
    assert not ray.is_initialized()
    assert not outer.exists()
    assert not joins_cluster()


def test_a_cluster_is_named_or_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert [joins_cluster(address) for address in (None, "local", "auto")] == [False, False, True]
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert [joins_cluster(address) for address in (None, "local")] == [True, False]


ENDED_BY_SIGTERM = """
import os, signal, time
from cocite.cli.signals import exit_on_sigterm
from cocite_jobs.cluster.connection import ray_connection
exit_on_sigterm()
with ray_connection("local"):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600)
    finally:
        print("in order")
"""


@pytest.mark.integration
def test_sigterm_ends_a_driver_in_order() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDED_BY_SIGTERM], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stdout) == (143, "in order\n"), done.stderr
    assert "SIGTERM received" not in done.stderr


@pytest.mark.integration
def test_what_ray_says_of_its_nodes_is_no_part_of_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ray._private.utils import push_error_to_driver
    from ray._private.worker import global_worker

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    printed, errors, until = "", "", time.monotonic() + 60
    with ray_connection():
        push_error_to_driver(global_worker, "node_died", "a node was lost")
        while "a node was lost" not in printed + errors and time.monotonic() < until:
            time.sleep(0.1)
            seen = capsys.readouterr()
            printed, errors = printed + seen.out, errors + seen.err
    assert "a node was lost" in errors
    assert printed == ""
