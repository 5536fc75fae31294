"""Reports progress in plain lines, for log files and pipes: how far a stage is, now and then, and how long it took."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 30.0
"""Seconds between two lines, at least. A shorter stage prints none."""
PACED_LINES = 10
"""The pace is that of the time since so many lines ago: parts of a stage may differ, as counting words and encoding
texts do, and a stage may advance in bursts, of which a single line sees one or none."""


class ProgressLog:
    """Writes lines about the progress of one stage.

    Args:
        name: of the stage.
        total: its steps; None: unknown.
        write: takes a line.
        clock: the time in seconds.

    Example:
        >>> from cocite.cli.progress_log import ProgressLog
        >>> seconds = iter([0, 10, 60])
        >>> log = ProgressLog("encoding papers", 200, print, clock=lambda: next(seconds))
        >>> log.advance(50)
        >>> log.write_if_due()  # after 10 s: too early
        >>> log.write_if_due()
        encoding papers: 50 of 200 (25 %), 1 min, about 3 min to go
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
        self._done = self._pace = 0.0
        self._lines = deque([(self._began, 0.0)], maxlen=PACED_LINES)
        """When a line was written at which something had advanced, and what was done then."""

    def advance(self, steps: float = 1) -> None:
        """Count steps that were done."""
        self._done += steps

    def write_if_due(self) -> None:
        """Write a line if the last one, or the beginning, is at least ``EVERY_S`` ago."""
        now = self._clock()
        if now - self._written < EVERY_S:
            return
        if self._done > self._lines[-1][1]:
            # Lines between which nothing advanced count as one span: a block of steps may take minutes.
            then, done = self._lines[0]
            self._pace = (self._done - done) / (now - then)
            self._lines.append((now, self._done))
        self._write(f"{self.name}: {self._position(now - self._began)}")
        self._written = now

    def write_end(self) -> None:
        """Write how long the stage took, if that was at least ``EVERY_S``."""
        seconds = self._clock() - self._began
        if seconds >= EVERY_S:
            self._write(f"{self.name}: done in {duration(seconds)}")

    def _position(self, seconds: float) -> str:
        if not self._done:
            return duration(seconds)
        if not self.total:
            return f"{self._done:,.0f}, {duration(seconds)}"
        share = min(self._done / self.total, 1.0)
        left = duration(max(self.total - self._done, 0) / self._pace)
        count = f"{self._done:,.0f} of {self.total:,.0f} ({share:.0%})".replace("%", " %")
        return f"{count}, {duration(seconds)}, about {left} to go"


@contextmanager
def log_progress(name: str, total: float | None, write: Callable[[str], None]) -> Iterator[ProgressLog]:
    """Write lines while the block runs, also where nothing advances, and a last one unless the block raises."""
    log, ended = ProgressLog(name, total, write), threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            log.write_if_due()

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield log
        log.write_end()
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
