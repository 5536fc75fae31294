"""Keeps the many short wake-ups of Ray's processes from interrupting what computes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def batch_policy() -> Iterator[None]:
    """Give the processes that the block starts, and all that these start, the scheduling policy ``SCHED_BATCH``.

    The processes of an endpoint that nobody asks wake some 2,000 times a second. By default each takes the core at once
    from a thread that computes, whose caches are then cold. With this policy a process that wakes waits until the
    running one has had its slice, some milliseconds, and only where all cores are busy. Where the system lacks the
    policy or refuses it, nothing changes.

    Source: sched(7), "SCHED_BATCH"; `python -m benchmarks.serve_rest` measures what it gives.

    Example:
        >>> import subprocess, sys
        >>> say = "import os; print(os.sched_getscheduler(0) == os.SCHED_BATCH)"
        >>> with batch_policy():
        ...     print(subprocess.check_output([sys.executable, "-c", say], text=True).strip())
        True
        >>> os.sched_getscheduler(0) == os.SCHED_BATCH
        False
    """
    if not hasattr(os, "sched_setscheduler"):  # macOS
        yield
        return
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    if before == os.SCHED_OTHER:  # another was chosen by whoever started this process
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, before, parameters)
