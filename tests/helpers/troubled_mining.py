"""Blocks of candidates whose worker dies, or is slow, for tests of mining."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from cocite_jobs.steps.mining.mine import MineBlocks
from cocite_jobs.steps.parts import Part, Result


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


class SlowMineBlocks(MineBlocks):
    """Waits before each block."""

    def open(self) -> Callable[[Part], Result]:
        make = super().open()

        def slow(part: Part) -> Result:
            time.sleep(0.3)
            return make(part)

        return slow
