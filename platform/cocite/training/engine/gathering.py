"""The rows that the ranks computed, in one file of each machine instead of the memory of each rank."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cocite.errors import CociteError
from cocite.training.engine.world import World
from cocite.write_errors import writing_to

BLOCK = 1 << 26
"""Bytes that are exchanged at a time."""


def gathered(rows: NDArray[Any], world: World) -> NDArray[Any]:
    """(R, ...) the rows of rank 0, then of rank 1, and so on; ranks may hold different numbers of rows.

    The ranks of a machine map one file into memory. It lies in the system's temporary folder (``TMPDIR``), has no name
    once all have opened it, and is gone with the last of their arrays. All ranks call this together.

    Args:
        rows: (n, ...) of this rank.
        world: the ranks.

    Raises:
        WriteError: there is no space for the file on some machine.

    Example:
        >>> rows = gathered(np.array([[4, 7], [9, 1]]), World())
        >>> rows.tolist(), isinstance(rows.base, np.memmap)
        ([[4, 7], [9, 1]], True)
    """
    counts = world.collect(len(rows))
    shape = (sum(counts), *rows.shape[1:])
    if 0 in shape:
        return np.empty(shape, rows.dtype)
    path = Path(tempfile.gettempdir(), f"cocite-gathered-{world.agree(uuid.uuid4().hex)}")
    writes = int(os.environ.get("LOCAL_RANK", "0")) == 0
    try:
        _make(path if writes else None, int(np.prod(shape)) * rows.itemsize, world)
        _fill(np.memmap(path, rows.dtype, "r+", shape=shape) if writes else None, rows, counts, world)
        world.barrier()  # the file is whole
        # Private, so that torch may take it for an array that can be written; pages stay shared, as nobody writes.
        result = np.asarray(np.memmap(path, rows.dtype, "c", shape=shape))
        world.barrier()  # all have opened it
    finally:
        if writes:
            path.unlink(missing_ok=True)
    return result


def one_copy(rows: NDArray[Any], world: World) -> NDArray[Any]:
    """What :func:`gathered` returns; with one rank the rows themselves, which are one copy already.

    Example:
        >>> rows = np.ones((2, 3), np.float32)
        >>> one_copy(rows, World()) is rows
        True
    """
    return gathered(rows, world) if world.size > 1 else rows


def _make(path: Path | None, size: int, world: World) -> None:
    """Make the file on each machine; where one has no space, every rank raises its error."""
    failure: CociteError | None = None
    if path is not None:
        hint = "free some space, or let TMPDIR name another folder"
        try:
            with writing_to(path.parent, hint=hint), path.open("xb") as file:
                # Space is taken now: a write to a mapped page that finds none would end the process.
                os.posix_fallocate(file.fileno(), 0, size)
        except CociteError as error:
            failure = error
    for other in world.collect(failure):
        if other is not None:
            raise other


def _fill(target: NDArray[Any] | None, rows: NDArray[Any], counts: list[int], world: World) -> None:
    """Put the rows of all ranks, block by block, into the target, where this rank has one."""
    block = max(1, BLOCK // (rows.itemsize * int(np.prod(rows.shape[1:]))))
    start = 0
    for rank, count in enumerate(counts):
        for first in range(0, count, block):
            shape = (min(block, count - first), *rows.shape[1:])
            own = rows[first : first + block] if rank == world.rank else np.empty(shape, rows.dtype)
            # As bytes, for backends do not exchange all types.
            flat = torch.from_numpy(np.ascontiguousarray(own).reshape(-1).view(np.uint8))
            if world.size > 1:
                flat = world.spread(flat.to(world.device), rank).cpu()
            if target is not None:
                target[start + first : start + first + len(own)] = (
                    flat.numpy().view(rows.dtype).reshape(shape)
                )
        start += count
