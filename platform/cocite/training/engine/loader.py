"""Batches prepared ahead in threads, in an order that no number of threads changes."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
B = TypeVar("B")


@contextmanager
def prepared(make: Callable[[T], B], items: Iterable[T], *, threads: int) -> Iterator[Iterator[B]]:
    """``make`` of each item, in the items' order, worked on ahead by some threads.

    At most ``2 * threads + 2`` items are in work or waiting. An error in ``make`` (or in ``items``) is raised where
    its batch would have come. When the block is left, nothing further is begun and no thread remains.

    Args:
        make: called from the threads; must be safe to call from several.
        items: read in the calling thread.
        threads: how many; 0: everything happens in the calling thread, when it is asked for.
    """
    source = iter(items)
    if not threads:
        yield map(make, source)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="loader")
    try:
        with closing(_ahead(pool, make, source, 2 * threads + 2)) as batches:
            yield batches
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ahead(
    pool: ThreadPoolExecutor, make: Callable[[T], B], source: Iterator[T], depth: int
) -> Generator[B, None, None]:
    """The results in order, with ``depth`` of them asked for before the first is waited for."""
    waiting: deque[Future[B]] = deque(pool.submit(make, item) for item in islice(source, depth))
    while waiting:
        yield waiting.popleft().result()
        # Only once a batch was taken, so that no more than ``depth`` of them are in memory.
        waiting.extend(pool.submit(make, item) for item in islice(source, 1))


def pinned(batch: Any, device: torch.device) -> Any:
    """A batch in memory from which a GPU can copy while it computes; as it is where the device is no GPU."""
    return _changed(batch, Tensor.pin_memory) if device.type == "cuda" else batch


def to_device(batch: Any, device: torch.device) -> Any:
    """A batch with its tensors on a device: those in mappings, sequences and dataclasses, however deep."""
    return _changed(batch, lambda tensor: tensor.to(device, non_blocking=True))


def _changed(batch: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(batch, Tensor):
        return change(batch)
    if isinstance(batch, Mapping):
        return {key: _changed(value, change) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_changed(value, change) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(_changed(value, change) for value in batch)
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        fields = [field.name for field in dataclasses.fields(batch) if field.init]
        return dataclasses.replace(batch, **{name: _changed(getattr(batch, name), change) for name in fields})
    return batch
