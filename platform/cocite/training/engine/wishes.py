"""What is wanted of a training from outside while it runs: a checkpoint now, or its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cocite.errors import StoppedError


class Wishes:
    """Collects wishes; the loop grants them after the step that is being taken. Any rank's wish counts for all.

    Example:
        >>> wishes = Wishes()
        >>> wishes.save()
        >>> wishes.take_save(), wishes.take_save(), wishes.stopping
        (True, False, False)
    """

    def __init__(self) -> None:
        self._save, self._stop = threading.Event(), threading.Event()

    def save(self) -> None:
        """Want a checkpoint, such as when this machine is about to be taken away."""
        self._save.set()

    def stop(self) -> None:
        """Want a checkpoint, and the end."""
        self._stop.set()

    def take_save(self) -> bool:
        """Whether a checkpoint is wanted; it counts as granted then."""
        wanted = self._save.is_set()
        self._save.clear()
        return wanted

    @property
    def stopping(self) -> bool:
        """Whether the end is wanted."""
        return self._stop.is_set()

    @contextmanager
    def on_sigterm(self) -> Iterator[None]:
        """Take SIGTERM for the wish to stop while the block runs; a second one ends the process as ever.

        In a thread other than the main one, where Python allows no handlers, nothing is changed.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGTERM)

        def handle(_number: int, _frame: Any) -> None:
            signal.signal(signal.SIGTERM, before)
            self.stop()

        signal.signal(signal.SIGTERM, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)


def stopped(when: str, step: int, *, kept: bool, blocks: bool = False) -> StoppedError:
    """What a training raises that ends because that was wished for.

    Args:
        when: it ended, up to the word before the step.
        step: of the last step.
        kept: whether there is a checkpoint of it.
        blocks: whether finished blocks of a mining are kept.

    Example:
        >>> print(stopped("after step", 7, kept=True))
        training: stopped after step 7; its checkpoint is kept (pass --resume to go on from there)
    """
    found = " and ".join(["its checkpoint"] * kept + ["what was mined"] * blocks)
    verb = "are" if kept and blocks else "is"
    return StoppedError(
        f"stopped {when} {step}; {f'{found} {verb} kept' if found else 'nothing was kept'}",
        where="training",
        hint="pass --resume to go on from there",
    )
