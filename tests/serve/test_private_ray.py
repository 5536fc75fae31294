from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from cocite_serve import private_ray
from cocite_serve.private_ray import kill_workers, lost_process, run_unless_lost


@pytest.fixture
def raylet(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of this process' raylet: a real one is killed in the integration tests."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        monkeypatch.setattr(private_ray, "_needed", lambda: [("raylet", process)])
        yield process
        process.kill()


def test_a_process_that_has_started_no_ray_has_lost_none() -> None:
    assert lost_process() is None
    done: list[int] = []
    run_unless_lost(lambda: done.append(1))
    assert done == [1]
    kill_workers()


@pytest.mark.usefixtures("raylet")
def test_what_the_work_raises_is_raised() -> None:
    def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_unless_lost(work)


def test_nothing_waits_for_a_ray_that_is_lost(raylet: subprocess.Popen[bytes]) -> None:
    assert lost_process() is None
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        raylet.kill()
        end.wait()

    run_unless_lost(work)
    assert begun.is_set()
    assert lost_process() == "raylet"
    end.set()


def test_the_workers_of_this_ray_alone_are_killed(raylet: subprocess.Popen[bytes]) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", "input()"],
            stdin=subprocess.PIPE,
            env={**os.environ, "RAY_RAYLET_PID": str(of)},
        )
        for of in (raylet.pid, raylet.pid + 1)
    ]
    kill_workers()
    assert workers[0].wait(60) < 0
    assert workers[1].poll() is None
    workers[1].communicate(b"\n", timeout=60)
