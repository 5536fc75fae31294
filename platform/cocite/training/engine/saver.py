"""Checkpoints written beside the training: steps go on while files are hashed, synced and uploaded."""

from __future__ import annotations

import threading
from collections.abc import Callable

from cocite.training.engine.world import World

LEFT_S = 30.0
"""Seconds for which a training that failed waits for its last checkpoint: a rank that died would never finish it."""


class Saver:
    """Does one piece of work at a time in a thread of its own.

    Args:
        world: that the work exchanges with other ranks over. Unless that is apart from the training's, the work is done
            at once: two threads must not exchange over one group.

    Example:
        >>> saver, done = Saver(World().apart()), []
        >>> saver.start(lambda: done.append("step 10"))
        >>> saver.finish()
        >>> done
        ['step 10']
    """

    def __init__(self, world: World) -> None:
        self._beside = world.is_apart
        self._ended: threading.Event | None = None
        self._error: BaseException | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Begin some work, once the last has ended.

        Raises:
            Exception: of the last work; the new one is not begun.
        """
        self.finish()
        if not self._beside:
            work()
            return
        # Waited for by an event: Ctrl-C inside `Thread.start` leaves a thread that runs and cannot be joined yet.
        self._ended = threading.Event()
        threading.Thread(target=self._do, args=(work, self._ended), name="checkpoint", daemon=True).start()

    def finish(self) -> None:
        """Wait for the work that was begun, and raise its error."""
        if self._ended is not None:
            self._ended.wait()
            self._ended = None
        error, self._error = self._error, None
        if error is not None:
            raise error

    def leave(self) -> None:
        """Wait a while for the work that was begun, and say nothing of its error: another is on its way."""
        if self._ended is not None:
            self._ended.wait(LEFT_S)

    def _do(self, work: Callable[[], None], ended: threading.Event) -> None:
        try:
            work()
        except BaseException as error:
            self._error = error
        finally:
            ended.set()
