"""Holds a Ctrl-C back while code runs that would turn it into another error."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Call SIGINT's handler at the end of the block, if the signal came in it; keep the block short.

    Python's handlers run between two instructions, also of Python code that compiled code calls. matplotlib's compiled
    code does not expect an exception there: a Ctrl-C while it draws becomes "ValueError: Invalid affine
    transformation matrix", which reads as a defect and not as the user's wish.

    Only the main thread receives signals, so in other threads nothing is held back.

    Example:
        >>> import signal
        >>> try:
        ...     with deferred_interrupt():
        ...         signal.raise_signal(signal.SIGINT)
        ...         print("drawn")
        ... except KeyboardInterrupt:
        ...     print("interrupted")
        drawn
        interrupted
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(signal.SIGINT, came[0])
