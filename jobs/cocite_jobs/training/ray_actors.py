"""Actors beside a training's workers, in a module that costs their processes next to nothing."""

from __future__ import annotations

import asyncio
from typing import Any

ASK_S = 1.0
"""Seconds between two times that a warden looks."""


class Journal:
    """Lives beside the driver, so that no worker's death takes along what it had said."""

    def __init__(self) -> None:
        self._events: list[Any] = []

    def tell(self, event: Any) -> None:
        """Keep an event."""
        self._events.append(event)

    def take(self) -> list[Any]:
        """All that were kept since the last time."""
        events, self._events = self._events, []
        return events


class Warden:
    """Gives back the places of workers whose training was ended from outside, such as a sweep's hopeless trial.

    Ray keeps a placement group until its whole job ends, though the actor that made it is dead. Ray Train has a cleaner
    of its own, which asks the dashboard; here no dashboard is needed, nor that there is one Ray alone on a machine.
    """

    def __init__(self) -> None:
        self._groups: list[Any] = []

    async def watch(self, journal: Any, group: Any) -> None:
        """Wait until a training's journal is no more, for it dies with its driver; then free a placement group."""
        from ray.exceptions import RayActorError

        self._groups.append(group)
        try:
            while True:
                await journal.__ray_ready__.remote()
                await asyncio.sleep(ASK_S)
        except RayActorError:
            await self._free(group)

    async def close(self) -> None:
        """Free them all: whoever is still there has been ended."""
        for group in list(self._groups):
            await self._free(group)

    async def _free(self, group: Any) -> None:
        """One that is free already, for its training came to its own end, may be freed again."""
        from ray.util import remove_placement_group

        await asyncio.get_running_loop().run_in_executor(None, remove_placement_group, group)
        if group in self._groups:
            self._groups.remove(group)
