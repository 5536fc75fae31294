from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from ray.exceptions import RayActorError

from cocite_jobs.training import ray_actors
from cocite_jobs.training.ray_actors import EventBuffer, PlacementGroupReaper


class Buffer:
    """Stands in for the handle of an event buffer whose driver dies after some checks."""

    def __init__(self, checks: int) -> None:
        self.checks = checks
        self.__ray_ready__ = self

    async def remote(self) -> None:
        self.checks -= 1
        if self.checks < 0:
            raise RayActorError


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The placement groups that were removed, in order."""
    groups: list[Any] = []
    monkeypatch.setattr("ray.util.remove_placement_group", groups.append)
    monkeypatch.setattr(ray_actors, "POLL_S", 0.001)
    return groups


def test_events_are_drained_once_in_their_order() -> None:
    buffer = EventBuffer()
    assert buffer.drain() == []
    for event in (1, 2, 3):
        buffer.add(event)
    assert buffer.drain() == [1, 2, 3]
    buffer.add(4)
    assert buffer.drain() == [4]


def test_a_group_is_removed_when_its_driver_is_gone_and_not_before(removed: list[Any]) -> None:
    async def scenario() -> None:
        reaper = PlacementGroupReaper()
        alive, dies = Buffer(10**9), Buffer(3)
        watches = [
            asyncio.create_task(reaper.watch(buffer, group))
            for buffer, group in ((alive, "alive"), (dies, "dead"))
        ]
        await watches[1]
        assert (removed, dies.checks) == (["dead"], -1)
        assert not watches[0].done()
        await reaper.close()
        assert removed == ["dead", "alive"]
        watches[0].cancel()

    asyncio.run(scenario())


def test_a_group_that_was_removed_already_may_be_removed_again(removed: list[Any]) -> None:
    async def scenario() -> None:
        reaper = PlacementGroupReaper()
        await asyncio.gather(*(reaper.watch(Buffer(0), "group") for _ in range(2)))
        await reaper.close()

    asyncio.run(scenario())
    assert removed == ["group", "group"]
