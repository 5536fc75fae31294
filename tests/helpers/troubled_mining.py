"""Blocks of candidates whose worker dies, or makes only some, for tests of mining."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from cocite_jobs.steps.mining.mine import MineBlocks
from cocite_jobs.steps.parts import Part, Result
from helpers.killed_driver import held


class DyingMineBlocks(MineBlocks):
    """Kills its process once, when it has block 1 to search."""

    def open(self) -> Callable[[Part], Result]:
        make = super().open()

        def dying(part: Part) -> Result:
            died = Path(self.to.path).parent / "died"
            if part.arguments == 1 and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return make(part)

        return dying


class HeldMineBlocks(MineBlocks):
    """Makes so many blocks as the test wants, and no more."""

    def open(self) -> Callable[[Part], Result]:
        return held(super().open())
