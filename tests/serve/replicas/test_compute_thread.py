from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from cocite_serve.replicas.compute_thread import ComputeThread


def test_a_replica_computes_one_request_at_a_time_beside_its_event_loop() -> None:
    running, most, threads = 0, 0, set[int]()

    def work() -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        threads.add(threading.get_ident())
        running -= 1
        return running

    async def several() -> None:
        thread = ComputeThread()
        await asyncio.gather(*(thread.run(work) for _ in range(20)))

    asyncio.run(several())
    assert most == 1
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_what_is_started_is_computed_in_turn_and_not_waited_for() -> None:
    thread, go, done = ComputeThread(models=False), threading.Event(), []
    thread.start(lambda: done.append(go.wait(60)))
    thread.start(lambda: done.append("next"))
    assert done == []
    go.set()
    thread.run_first(lambda: None)
    assert done == [True, "next"]


def test_a_request_whose_caller_has_gone_is_never_computed() -> None:
    computed: list[str] = []
    release = threading.Event()

    async def one_goes() -> None:
        thread = ComputeThread()
        first = asyncio.create_task(thread.run(lambda: release.wait(60)))
        gone = asyncio.create_task(thread.run(lambda: computed.append("gone")))
        last = asyncio.create_task(thread.run(lambda: computed.append("last")))
        await asyncio.sleep(0.05)  # all three are queued
        gone.cancel()
        with pytest.raises(asyncio.CancelledError, match="^$"):
            await gone
        release.set()
        await asyncio.gather(first, last)

    asyncio.run(one_goes())
    assert computed == ["last"]


def test_what_is_made_first_is_made_in_the_computing_thread() -> None:
    thread = ComputeThread()
    first = thread.run_first(threading.get_ident)
    assert first == asyncio.run(thread.run(threading.get_ident)) != threading.get_ident()
    with pytest.raises(KeyError, match="missing"):
        thread.run_first(lambda: {}["missing"])


def test_a_thread_without_models_imports_no_torch() -> None:
    code = """
import sys
from cocite_serve.replicas.compute_thread import ComputeThread
ComputeThread(models=False)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
