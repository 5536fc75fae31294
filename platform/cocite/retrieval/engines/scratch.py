"""Arrays that a thread keeps for its next query, because making them anew would touch every paper."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Scratch:
    """Arrays of one value, by name, of which each thread has its own.

    Whoever takes one puts its entries back to that value before the next use.

    Example:
        >>> scratch = Scratch()
        >>> array = scratch.take("scores", 3, np.float32, 0)
        >>> array is scratch.take("scores", 3, np.float32, 0), array.tolist()
        (True, [0.0, 0.0, 0.0])
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def take(self, name: str, length: int, dtype: DTypeLike, value: float) -> NDArray[Any]:
        """The thread's array (length,) of this name, filled with ``value`` when it is made."""
        arrays: dict[str, NDArray[Any]] = self._local.__dict__
        array = arrays.get(name)
        if array is None or len(array) < length:
            array = arrays[name] = np.full(length, value, dtype)
        return array[:length] if len(array) > length else array

    def drop(self, name: str) -> None:
        """Forget the thread's array of this name: after an error it may hold entries of a query."""
        self._local.__dict__.pop(name, None)


SCRATCH = Scratch()
"""Shared by all engines of the process."""
