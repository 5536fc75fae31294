"""The processes that train together."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from cocite.errors import CociteError

T = TypeVar("T")


def start_group(device: torch.device, **options: Any) -> None:
    """Start torch's process group, and end it with the process: its threads would bring the process down otherwise."""
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", **options)
    atexit.register(end_group)


def end_group() -> None:
    """End the process group, if there is one, with all that refers to it."""
    if dist.is_initialized():
        # What still refers to the group, such as a wrapped model that only the collector finds, keeps its threads
        # alive; one that lets go of a tensor when the interpreter is half gone brings the process down.
        gc.collect()
        dist.destroy_process_group()


@dataclass(frozen=True)
class World:
    """This process among those that train together.

    Attributes:
        rank: its number.
        size: how many there are.
        device: where its tensors live.
        group: torch's process group, over which it exchanges with the others; None: the usual one.
        is_apart: whether its exchanges may run beside those of another world, in another thread.

    Example:
        >>> world = World.join()  # alone, unless torchrun or Ray started this process
        >>> world.first, world.concatenate(torch.ones(2, 3)).shape
        (True, torch.Size([2, 3]))
        >>> World(rank=1, size=3).share(10)
        slice(3, 6, None)
    """

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    group: Any = field(default=None, repr=False, compare=False)
    is_apart: bool = False

    @classmethod
    def join(cls, *, timeout: float = 600, use_gpu: bool = True) -> World:
        """The world that the environment describes: torchrun's, Ray Train's (already joined), or this process alone.

        Args:
            timeout: seconds to wait for the others before giving up.
            use_gpu: train on a GPU where there is one.
        """
        gpu = use_gpu and torch.cuda.is_available()
        local = int(os.environ.get("LOCAL_RANK", "0"))
        device = torch.device("cuda", local % torch.cuda.device_count()) if gpu else torch.device("cpu")
        if gpu:
            # NCCL and "cuda" without a number mean the current device, which is the first on every rank until it is
            # set.
            torch.cuda.set_device(device)
        if not dist.is_initialized():
            if "WORLD_SIZE" not in os.environ:
                return cls(device=device)
            start_group(device, timeout=timedelta(seconds=timeout))
        return cls(dist.get_rank(), dist.get_world_size(), device)

    def apart(self) -> World:
        """The same processes with exchanges of their own, which may run beside this world's in another thread.

        All ranks call it together. Its tensors are on the CPU.
        """
        group = dist.new_group(backend="gloo") if self.size > 1 else None
        return replace(self, device=torch.device("cpu"), group=group, is_apart=True)

    @property
    def first(self) -> bool:
        """Whether this process is rank 0, which logs and writes for all."""
        return self.rank == 0

    def barrier(self) -> None:
        """Wait for the others."""
        if self.size > 1:
            dist.barrier(group=self.group)

    def share(self, count: int) -> slice:
        """This rank's contiguous part of ``count`` things; parts differ in size by at most one."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def sum(self, value: Tensor) -> Tensor:
        """The sum over all ranks."""
        if self.size > 1:
            # all_reduce writes into its argument, which is the caller's.
            value = value.clone()
            dist.all_reduce(value, group=self.group)
        return value

    def any_of(self, flags: Sequence[bool]) -> list[bool]:
        """Which of some flags is set on any rank; all ranks give equally many.

        Example:
            >>> World().any_of([True, False])
            [True, False]
        """
        if self.size == 1:  # nothing is put on the device, which would have to be waited for
            return list(flags)
        counts = self.sum(torch.tensor([int(flag) for flag in flags], dtype=torch.int32, device=self.device))
        return [count > 0 for count in counts.tolist()]

    def concatenate(self, rows: Tensor) -> Tensor:
        """(R, ...) the rows of rank 0, then of rank 1, and so on; ranks may hold different numbers of rows."""
        if self.size == 1:
            return rows
        counts = torch.zeros(self.size, dtype=torch.int64, device=rows.device)
        counts[self.rank] = len(rows)
        sizes: Sequence[int] = self.sum(counts).tolist()
        most = max(sizes)
        # all_gather takes tensors of one shape, so each rank fills its rows up to the longest.
        padded = rows.new_zeros((most, *rows.shape[1:]))
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded.contiguous(), group=self.group)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    def agree(self, value: Any) -> Any:
        """The value of rank 0 on every rank: for decisions that clocks or file systems could make differently."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.group)
        return box[0]

    def on_first(self, work: Callable[[], T], told: Callable[[OSError], CociteError]) -> T:
        """Run a function on rank 0 and return its result on all ranks; if it fails, every rank raises its error.

        Else the others would wait for rank 0 until their time is over.

        Args:
            work: the function.
            told: the error that is raised in place of one of the file system.
        """
        result, failure = self.agree(_attempt(work, told) if self.first else None)
        if failure is not None:
            raise failure
        return result  # type: ignore[no-any-return]

    def on_each(self, work: Callable[[], T], told: Callable[[OSError], CociteError]) -> T:
        """Run a function on every rank and return its own result on each; if one fails, every rank raises the error of
        the first that failed.

        Args:
            work, told: as of :meth:`on_first`.
        """
        result, failure = _attempt(work, told)
        first = next((other for other in self.collect(failure) if other is not None), None)
        if first is not None:
            raise first
        return result  # type: ignore[return-value]

    def collect(self, value: Any) -> list[Any]:
        """The value of each rank, in the order of the ranks."""
        if self.size == 1:
            return [value]
        box: list[Any] = [None] * self.size
        dist.all_gather_object(box, value, group=self.group)
        return box

    def spread(self, value: Tensor, source: int) -> Tensor:
        """A tensor of rank ``source`` on every rank; the others give one of the same shape and type to fill."""
        if self.size > 1:
            dist.broadcast(value, src=source, group=self.group)
        return value


def _attempt(
    work: Callable[[], T], told: Callable[[OSError], CociteError]
) -> tuple[T | None, CociteError | None]:
    """The result of a function, or its error as one that the other ranks can raise, too.

    Example:
        >>> _attempt(lambda: 3, lambda error: CociteError("no room"))
        (3, None)
    """
    try:
        return work(), None
    except CociteError as error:
        return None, error
    except OSError as error:
        failure = told(error)
        failure.__cause__ = error
        return None, failure
