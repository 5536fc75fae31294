"""A function run in several processes that train together."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing as mp

from cocite.training.engine.world import World, end_group, start_group


def together(function: Callable[..., Any], *arguments: Any, workers: int = 2) -> list[Any]:
    """What ``function(world, *arguments)`` returns on each rank; the function must be importable."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mp.spawn(_rank, (workers, folder, function, arguments), nprocs=workers)
        return [pickle.loads((folder / f"{rank}").read_bytes()) for rank in range(workers)]  # noqa: S301 - our own


def _rank(
    rank: int, size: int, folder: Path, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
    cpu, meeting = torch.device("cpu"), f"file://{folder}/meeting"
    start_group(cpu, init_method=meeting, rank=rank, world_size=size)
    world = World.join(timeout=600)
    (folder / f"{rank}").write_bytes(pickle.dumps(function(world, *arguments)))
    world.barrier()
    end_group()
