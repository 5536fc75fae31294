"""Where the workers' words wait for the driver: an actor, in a module that costs its process next to nothing."""

from __future__ import annotations

from typing import Any


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
