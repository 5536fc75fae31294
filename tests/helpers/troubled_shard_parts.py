"""Parts of an index whose worker dies, or makes only some, for tests of its build."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite_jobs.steps.indexing.shard_parts import ShardParts
from cocite_jobs.steps.parts import Part
from helpers.killed_driver import hold

KILLED = ("count", "add", "finish")
"""Steps that lose a worker: each writes several folders, or completes a shard."""


@dataclass(frozen=True)
class DyingShardParts(ShardParts):
    """Kills its process once a step of some: after a part wrote its output, and before it is recorded."""

    def _make(self, plan: Any, load: Callable[..., Any], part: Part) -> dict[str, Any]:
        made = super()._make(plan, load, part)
        step = part.name.split(".")[0]
        died = Path(self.files.path).parent / f"died-{step}"
        if step in KILLED and not died.exists():
            died.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return made


@dataclass(frozen=True)
class HeldShardParts(ShardParts):
    """Makes so many parts as the test wants, and no more."""

    def _make(self, plan: Any, load: Callable[..., Any], part: Part) -> dict[str, Any]:
        hold()
        return super()._make(plan, load, part)
