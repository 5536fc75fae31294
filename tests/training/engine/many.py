"""A function run in several processes that train together."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.multiprocessing as mp

from cocite.training.engine.world import World


def together(function: Callable[..., Any], *arguments: Any, workers: int = 2) -> list[Any]:
    """What ``function(world, *arguments)`` returns on each rank; the function must be importable."""
    context = mp.get_context("spawn")
    queue = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(_rank, (workers, Path(folder) / "meeting", queue, function, arguments), nprocs=workers)
        results = dict(queue.get() for _ in range(workers))
    return [results[rank] for rank in range(workers)]


def _rank(
    rank: int, size: int, meeting: Path, queue: Any, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    import torch.distributed as dist

    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    world = World.join(timeout=120)
    queue.put((rank, function(world, *arguments)))
    world.barrier()
    dist.destroy_process_group()
