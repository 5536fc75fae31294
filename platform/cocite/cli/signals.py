"""Ends a command in order when Ctrl-C or SIGTERM asks for it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
"""Exit code of a command that Ctrl-C ends, as shells give it."""
TERMINATED = 128 + signal.SIGTERM
"""Exit code of a process that SIGTERM ends, as shells give it."""

_stops: list[int] = []


@contextmanager
def noted_stops() -> Iterator[list[int]]:
    """Yield the exit codes of the signals that have asked the command in the block to end.

    An exception alone does not show that: compiled code that calls Python may turn ``KeyboardInterrupt`` into an error
    of its own (NumPy: "expected str, bytes or os.PathLike object, not BufferedReader"), and the cleaning after it may
    fail. Where SIGINT is ignored, and in other threads than the main one, Ctrl-C is not noted.
    """
    _stops.clear()
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield _stops
        return

    def note(number: int, frame: FrameType | None) -> None:
        _stops.append(INTERRUPTED)
        handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield _stops
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, handler)


def exit_on_sigterm() -> None:
    """Let SIGTERM, of a scheduler or of a Ray job's end, raise :class:`SystemExit`.

    By default the signal ends Python at once. With this, the command still stops the processes that it has started and
    removes its temporary files.
    """
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(*_: object) -> None:
    _stops.append(TERMINATED)
    sys.exit(TERMINATED)
