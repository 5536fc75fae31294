"""Finished blocks of a mining, kept beside the checkpoints until a later checkpoint makes them needless.

A training that ends in the midst of mining, however it ends, goes on from the checkpoint before it, with the weights
that it mined with: it takes the blocks that are there, and mines the rest. The blocks of one mining lie in a folder,
``mining-00000120-9f86d081884c7d65``, whose name has the step and a fingerprint of all that the blocks follow from, so
that those of another mining are never taken for them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cocite.errors import CociteError
from cocite.training.engine.folders import Folder
from cocite.training.engine.world import World

LOG = logging.getLogger("cocite")
PREFIX = "mining-"
"""How the names of the folders begin."""
DIGEST = 32
"""Bytes of the SHA-256 that each file begins with."""


class KeptBlocks:
    """The finished blocks of one rank in one mining.

    Blocks save time and nothing else: one that cannot be read, or is damaged, counts as missing, and where one cannot
    be written, a warning says so, and no further one is.

    Args:
        folder: of the mining, which all ranks write into.
        rank: whose blocks these are.

    Attributes:
        any_kept: whether there is one.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.training.engine.folders import LocalFolder
        >>> rows = np.arange(6).reshape(3, 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     KeptBlocks(LocalFolder(Path(folder)), 0).keep("mining: papers", 512, rows)
        ...     kept, result = KeptBlocks(LocalFolder(Path(folder)), 0), np.zeros_like(rows)
        ...     kept.take("mining: papers", 0, result), kept.take("mining: papers", 512, result), result.sum()
        (False, True, np.int64(15))
    """

    def __init__(self, folder: Folder, rank: int) -> None:
        self.folder, self.rank = folder, rank
        self._start = f"{rank:05d}-"
        try:
            names = folder.names()
        except (CociteError, OSError):
            names = []
        self._there = {name for name in names if name.startswith(self._start)}
        self._writes = True
        self.any_kept = bool(self._there)

    def take(self, what: str, start: int, into: NDArray[Any]) -> bool:
        """Copy a block, where there is one.

        Args:
            what: is mined, in words.
            start: number of the block's first row.
            into: receives the rows.

        Returns:
            Whether it was there, undamaged.
        """
        if (name := self._name(what, start)) not in self._there:
            return False
        try:
            data = self.folder.read(name) or b""
        except (CociteError, OSError):
            return False
        rows = memoryview(data)[DIGEST:]
        if len(rows) != into.nbytes or hashlib.sha256(rows).digest() != data[:DIGEST]:
            return False
        into[:] = np.frombuffer(rows, into.dtype).reshape(into.shape)
        return True

    def keep(self, what: str, start: int, rows: NDArray[Any]) -> None:
        """Write a finished block.

        Args:
            what: is mined, in words.
            start: number of the block's first row.
            rows: of the block.
        """
        if not self._writes:
            return
        data = np.ascontiguousarray(rows).tobytes()
        try:
            self.folder.write(self._name(what, start), hashlib.sha256(data).digest() + data)
        except (CociteError, OSError) as error:
            LOG.warning("further blocks of mining are not kept: %s", error)
            self._writes = False
        else:
            self.any_kept = True

    def _name(self, what: str, start: int) -> str:
        return f"{self._start}{re.sub('[^a-z0-9]+', '-', what.lower())}-{start:012d}"


def name_of_mining(step: int, model: nn.Module, world: World, fingerprint: str) -> str:
    """The name of the folder of a mining's blocks, the same on every rank; all ranks call it together.

    Args:
        step: steps taken.
        model: with the weights that are mined with.
        world: who shares the work: what is a block follows from the number of ranks.
        fingerprint: of the training, its settings and its corpus.

    Example:
        >>> names = [name_of_mining(7, nn.Linear(2, 1), World(), text) for text in ("one", "other")]
        >>> [name[:15] for name in names], names[0] == names[1]
        (['mining-00000007', 'mining-00000007'], False)
    """
    digest = hashlib.sha256(json.dumps([fingerprint, step, world.size, world.device.type]).encode())
    for name, value in model.state_dict().items():
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return str(world.agree(f"{PREFIX}{step:08d}-{digest.hexdigest()[:16]}"))


def remove_others(place: Folder, name: str, step: int) -> None:
    """Remove the blocks of other minings, as far as the file system lets us; rank 0 calls it.

    Those of a later step stay: a training that was killed after the last checkpoint comes to the same step again.

    Args:
        place: the folder of the checkpoints.
        name: of the mining that begins.
        step: that it begins at.
    """
    with suppress(CociteError, OSError):
        for other in place.names():
            if other != name and is_over(other, step + 1):
                (place / other).clear()


def is_over(name: str, step: int) -> bool:
    """Whether a name is that of blocks which no training needs that goes on from a checkpoint of a step.

    A checkpoint of the very step of a mining is one from which that mining begins again.

    Example:
        >>> [is_over("mining-00000007-9f86d081884c7d65", step) for step in (7, 8)], is_over("mined-00000007", 8)
        ([False, True], False)
    """
    found = re.fullmatch(rf"{PREFIX}(\d+)-[0-9a-f]+", name)
    return found is not None and int(found[1]) < step
