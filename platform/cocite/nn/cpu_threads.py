"""Batches for the cores of a CPU: each thread has one core and batches of its own.

Threads of one operator wait for one another after every operator; threads with batches of their own wait once, at the
end.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

CPU_TOKENS = 1024
"""Tokens of a batch on a CPU: enough to fill a core's vectors, few enough to stay in its cache."""


def token_batches(lengths: NDArray[np.int64], tokens: int) -> list[NDArray[np.int64]]:
    """Cut packed sequences into batches of a token budget.

    Args:
        lengths: (n,) tokens of each sequence, in any order.
        tokens: of a batch, about; a longer sequence is a batch by itself.

    Returns:
        For each batch the numbers of its sequences. The longest come first, so that threads finish at about the same
        time.

    Example:
        >>> [batch.tolist() for batch in token_batches(np.array([2, 9, 3, 4, 1]), 10)]
        [[1], [3, 2, 0, 4]]
    """
    order = np.argsort(-lengths, kind="stable")
    cuts = np.flatnonzero(np.diff((np.cumsum(lengths[order]) - 1) // tokens)) + 1
    return [batch for batch in np.split(order, cuts) if len(batch)]


def one_core_threads(count: int, name: str) -> ThreadPoolExecutor:
    """Threads in each of which torch uses one core.

    Args:
        count: number of threads, all of which are started.
        name: what their names begin with.

    Example:
        >>> with one_core_threads(2, "example") as pool:
        ...     list(pool.map(lambda _: torch.get_num_threads(), range(3)))
        [1, 1, 1]
    """
    before = torch.get_num_threads()
    started = threading.Barrier(count)

    def start() -> None:
        torch.get_num_threads()  # initialises this thread now; later, torch would overwrite what is set here
        torch.set_num_threads(1)
        started.wait()

    pool = ThreadPoolExecutor(count, thread_name_prefix=name)
    for future in [pool.submit(start) for _ in range(count)]:
        future.result()
    # torch has a number for each thread, and one for future threads, which is restored here.
    torch.set_num_threads(before)
    return pool
