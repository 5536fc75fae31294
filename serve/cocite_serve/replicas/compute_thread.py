"""The one thread of a replica that computes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class ComputeThread:
    """One thread that computes, so that a replica's event loop still answers health checks meanwhile.

    Args:
        models: whether models compute in it; without them PyTorch, which takes long to import, is left alone.

    Example:
        >>> thread = ComputeThread()
        >>> thread.run_first(lambda: 6 * 7), asyncio.run(thread.run(lambda: 6 * 7))
        (42, 42)
    """

    def __init__(self, *, models: bool = True) -> None:
        _single_threaded(models)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stage")

    async def run(self, work: Callable[[], T]) -> T:
        """The result of ``work``; it is never computed when the caller is cancelled before its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def start(self, work: Callable[[], None]) -> None:
        """Compute ``work`` when what was started before is done, and return at once; it sees to its own errors."""
        self._thread.submit(work)

    def run_first(self, work: Callable[[], T]) -> T:
        """The result of ``work``, waited for; for a replica that is being made, when nothing else is under way."""
        return self._thread.submit(work).result()


def _single_threaded(models: bool) -> None:
    """Keep torch and FAISS at one thread: replicas are the unit of scale, and more threads would compete for cores."""
    import faiss

    faiss.omp_set_num_threads(1)
    if models:
        import torch

        torch.set_num_threads(1)
