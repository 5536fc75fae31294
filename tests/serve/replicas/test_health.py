"""The health check of a replica: a busy one is healthy, a stuck or failing one is not."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from cocite_serve.replicas.compute_thread import ComputeThread
from cocite_serve.replicas.health import QUIET_S, HealthCheck, UnhealthyError


class Replica:
    """A clock that the test sets, what is under way, and golden queries that are counted."""

    def __init__(self, golden: Callable[[], Any] = int) -> None:
        self.now, self.began_s, self.ended_s, self.answered_s = 0.0, None, 0.0, 0.0
        self.asked, self._golden = 0, golden
        self.began_s: float | None
        self.thread = ComputeThread(models=False)

    def checked(self) -> HealthCheck:
        return HealthCheck(self.thread, self, self.golden, stuck_s=30, clock=lambda: self.now)

    def golden(self) -> None:
        self.asked += 1
        self._golden()


async def settled(replica: Replica) -> None:
    """Let the thread compute what was asked, and the event loop see that it did."""
    await asyncio.sleep(0)  # the check's task hands its query to the thread
    await replica.thread.run(lambda: None)
    await asyncio.sleep(0)


def test_a_replica_in_use_is_asked_nothing_and_a_quiet_one_at_times() -> None:
    replica = Replica()

    async def live() -> None:
        check = replica.checked()
        for second in range(100):
            replica.now = replica.ended_s = replica.answered_s = float(second)
            await check.check()
        assert replica.asked == 0
        for second in range(100, 100 + int(4 * QUIET_S)):
            replica.now = float(second)
            await check.check()
            await settled(replica)

    asyncio.run(live())
    assert replica.asked in (2, 3)


def test_a_stage_whose_every_step_raises_is_noticed_under_traffic() -> None:
    def golden() -> None:
        raise RuntimeError("CUDA error")

    replica = Replica(golden)

    async def live() -> None:
        check = replica.checked()
        for second in range(int(QUIET_S) + 2):
            assert replica.asked == 0
            # A step ends, with an error, and another one is under way.
            replica.now = replica.began_s = replica.ended_s = float(second)
            await check.check()
        await settled(replica)
        assert replica.asked == 1
        with pytest.raises(UnhealthyError, match=r"a golden query failed: RuntimeError\('CUDA error'\)"):
            await check.check()

    asyncio.run(live())


def test_a_step_that_takes_too_long_is_noticed_while_it_does() -> None:
    replica = Replica()

    async def live() -> None:
        check = replica.checked()
        replica.now, replica.began_s = 29.0, 0.0
        await check.check()
        replica.now = 31.0
        with pytest.raises(UnhealthyError, match="a step has taken 31 s so far, and stuck_s is 30"):
            await check.check()
        replica.ended_s, replica.began_s = 31.0, None
        await check.check()

    asyncio.run(live())


def test_a_golden_query_that_hangs_is_noticed_and_the_check_does_not_wait_for_it() -> None:
    ended = threading.Event()
    replica = Replica(lambda: ended.wait(30))

    async def live() -> None:
        check = replica.checked()
        replica.now = 100.0
        begin = time.monotonic()
        await check.check()
        replica.now = 129.0
        await check.check()
        replica.now = 131.0
        with pytest.raises(UnhealthyError, match="a step has taken 31 s so far"):
            await check.check()
        assert time.monotonic() - begin < 10
        ended.set()

    asyncio.run(live())


def test_a_golden_query_that_waits_for_requests_is_not_stuck() -> None:
    ended = threading.Event()
    replica = Replica(lambda: ended.wait(30))

    async def live() -> None:
        check = replica.checked()
        replica.now = 100.0
        await check.check()
        replica.now = replica.ended_s = 140.0
        await check.check()
        ended.set()

    asyncio.run(live())


def test_a_failing_golden_query_is_asked_again_until_it_succeeds() -> None:
    failing = True

    def golden() -> None:
        if failing:
            raise RuntimeError("CUDA error")

    replica = Replica(golden)

    async def live() -> None:
        nonlocal failing
        check = replica.checked()
        replica.now = 100.0
        await check.check()
        await settled(replica)
        for _ in range(3):
            with pytest.raises(UnhealthyError, match=r"a golden query failed: RuntimeError\('CUDA error'\)"):
                await check.check()
            await settled(replica)
        failing = False
        with pytest.raises(UnhealthyError, match="a golden query failed"):
            await check.check()
        await settled(replica)
        await check.check()
        await check.check()

    asyncio.run(live())
    assert replica.asked == 5
