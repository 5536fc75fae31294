"""Progress in plain lines, for logs and pipes: how far a stage is, now and then, and how long it took."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 30.0
"""Seconds between two lines, at least. A shorter stage prints none."""


class ProgressLines:
    """The lines of one stage.

    Args:
        name: of the stage.
        total: its steps; None: unknown.
        write: takes a line.
        clock: the time in seconds.
    """

    def __init__(
        self,
        name: str,
        total: float | None,
        write: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.total, self._write, self._clock = name, total, write, clock
        self._began = self._written = clock()
        self._done = 0.0

    def advance(self, steps: float = 1) -> None:
        """Count steps that were done."""
        self._done += steps

    def write_if_due(self) -> None:
        """Write a line where the last one, or the beginning, is long ago."""
        now = self._clock()
        if now - self._written < EVERY_S:
            return
        self._written = now
        self._write(f"{self.name}: {self._position(now - self._began)}")

    def write_end(self) -> None:
        """Write how long the stage took, where that was long."""
        seconds = self._clock() - self._began
        if seconds >= EVERY_S:
            self._write(f"{self.name}: done in {duration(seconds)}")

    def _position(self, seconds: float) -> str:
        if not self._done:
            return duration(seconds)
        if not self.total:
            return f"{self._done:,.0f}, {duration(seconds)}"
        share = min(self._done / self.total, 1.0)
        left = duration(seconds / share - seconds)
        count = f"{self._done:,.0f} of {self.total:,.0f} ({share:.0%})".replace("%", " %")
        return f"{count}, {duration(seconds)}, about {left} to go"


@contextmanager
def progress_lines(name: str, total: float | None, write: Callable[[str], None]) -> Iterator[ProgressLines]:
    """Write lines while the block runs, also where nothing advances; its end, unless the block raises."""
    lines, ended = ProgressLines(name, total, write), threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            lines.write_if_due()

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield lines
        lines.write_end()
    finally:
        ended.set()


def duration(seconds: float) -> str:
    """A time span in words, such as ``1 h 5 min`` or ``1 min 10 s``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")
