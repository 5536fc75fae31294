"""Lets a process be interrupted whose starter has SIGINT ignored."""

from __future__ import annotations

import signal
import threading


def become_interruptible() -> None:
    """Have SIGINT raise ``KeyboardInterrupt`` in the main thread where the process ignores it.

    A shell has the commands that it starts in the background ignore SIGINT, and the workers of a Ray that such a
    command starts inherit that. There ``ray.cancel``, which calls SIGINT's handler, would interrupt nothing. Only the
    main thread can change a handler; in another nothing is done.

    Example:
        >>> before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        >>> become_interruptible()
        >>> signal.signal(signal.SIGINT, before) is signal.default_int_handler
        True
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
