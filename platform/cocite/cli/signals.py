"""Ends a command in order when SIGTERM asks for it."""

from __future__ import annotations

import signal
import sys

TERMINATED = 128 + signal.SIGTERM
"""Exit code of a process that SIGTERM ends, as shells give it."""


def exit_on_sigterm() -> None:
    """Let SIGTERM, of a scheduler or of a Ray job's end, raise :class:`SystemExit`.

    By default the signal ends Python at once. With this, the command still stops the processes that it has started and
    removes its temporary files.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
