"""Actors beside a training's workers, in a module that imports nothing heavy into their processes."""

from __future__ import annotations

import asyncio
from typing import Any

POLL_S = 1.0
"""Seconds between two checks of the reaper whether a driver is still alive."""


class EventBuffer:
    """An actor on the driver's node that holds events until the driver takes them.

    An event that a worker has sent survives the worker's death.

    Example:
        >>> buffer = EventBuffer()
        >>> buffer.add(("stage", "preparing", 0))
        >>> buffer.drain(), buffer.drain()
        ([('stage', 'preparing', 0)], [])
    """

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._stopping = False

    def add(self, event: Any) -> None:
        """Hold an event."""
        self._events.append(event)

    def stop(self) -> None:
        """Note that the driver was asked to end."""
        self._stopping = True

    def is_stopping(self) -> bool:
        """Whether the driver was asked to end: rank 0 asks now and then."""
        return self._stopping

    def drain(self) -> list[Any]:
        """Remove and return the events added since the last call."""
        events, self._events = self._events, []
        return events


class PlacementGroupReaper:
    """An actor that removes the placement groups of trainings whose driver was ended, such as a stopped trial's.

    Ray keeps a placement group until its whole job ends, though the actor that made it is dead. Ray Train has a cleaner
    of its own, which asks the dashboard; this one needs no dashboard, and works where several Rays run on a machine.

    Example:
        >>> import ray
        >>> from cocite_jobs.cluster.connection import ray_connection
        >>> with ray_connection("local"):
        ...     group = ray.util.placement_group([{"CPU": 1}])
        ...     ready = ray.get(group.ready())
        ...     buffer, reaper = (
        ...         ray.remote(num_cpus=0)(actor).remote() for actor in (EventBuffer, PlacementGroupReaper)
        ...     )
        ...     watch = reaper.watch.remote(buffer, group)
        ...     ray.kill(buffer)  # as the end of its driver does
        ...     done = ray.get(watch)
        ...     ray.util.placement_group_table(group)["state"]
        'REMOVED'
    """

    def __init__(self) -> None:
        self._groups: list[Any] = []

    async def watch(self, buffer: Any, group: Any) -> None:
        """Wait until a training's event buffer is gone, for it dies with its driver; then remove a placement group."""
        from ray.exceptions import RayActorError

        self._groups.append(group)
        try:
            while True:
                # Every actor answers this call; it raises once the buffer is gone.
                await buffer.__ray_ready__.remote()
                await asyncio.sleep(POLL_S)
        except RayActorError:
            await self._remove(group)

    async def close(self) -> None:
        """Remove all placement groups: the drivers that are still alive are about to be ended."""
        for group in list(self._groups):
            await self._remove(group)

    async def _remove(self, group: Any) -> None:
        """Remove a placement group; Ray lets one that its training removed itself be removed again."""
        from ray.util import remove_placement_group

        # The call waits for Ray, and would hold up the watches over other trainings.
        await asyncio.get_running_loop().run_in_executor(None, remove_placement_group, group)
        if group in self._groups:
            self._groups.remove(group)
