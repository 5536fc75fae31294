"""What a worker on Ray is asked for from outside: a checkpoint before its machine is taken away, or the end."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from cocite.training.engine.wishes import Wishes

POLL_S = 2.0
"""Seconds between two times that rank 0 asks whether the driver was told to end."""

UNREADABLE = "this version of Ray does not say where it notes that a machine will be taken away"


class RayWishes(Wishes):
    """Wants a checkpoint as soon as Ray has heard that a machine of the training will be taken away.

    Ray's watcher (``ray.train.get_preemption_info``) tells each worker. That function waits for all ranks; what it
    would give is read here from the worker's own memory, for the loop asks after every step.

    Example:
        >>> RayWishes().take_save()  # outside of a worker there is nothing to be taken away
        False
    """

    def __init__(self) -> None:
        super().__init__()
        self._granted = False

    def take_save(self) -> bool:
        """See :class:`~cocite.training.engine.wishes.Wishes`; a notice counts once."""
        if not self._granted and _is_preempted():
            self._granted = True
            self.save()
        return super().take_save()


def _is_preempted() -> bool:
    """Whether Ray has told this worker that a machine of its training will be taken away."""
    try:
        from ray.train.v2._internal.execution.context import get_train_context

        return get_train_context().preemption_context.preemption_info is not None
    except RuntimeError:  # no worker's process
        return False
    except (ImportError, AttributeError) as error:  # these are no part of Ray's interface
        warnings.warn(f"{UNREADABLE}: {error}", RuntimeWarning, stacklevel=2)
        return False


@contextmanager
def stop_with_driver(wishes: Wishes, buffer: Any) -> Iterator[None]:
    """While the block runs, pass the driver's wish to end on.

    Args:
        wishes: of this rank.
        buffer: the training's :class:`~cocite_jobs.training.ray_actors.EventBuffer`.
    """
    import ray

    ended = threading.Event()

    def ask() -> None:
        with suppress(ray.exceptions.RayError):  # the driver is gone, and this process will follow
            while not ended.wait(POLL_S):
                if ray.get(buffer.is_stopping.remote()):
                    wishes.stop()
                    return

    thread = threading.Thread(target=ask, name="stop-with-driver", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
