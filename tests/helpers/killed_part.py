"""Steps of an import whose first worker is killed in the middle of a part, or that make only some parts."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cocite_jobs.steps.importing.stage_parts import StageParts
from cocite_jobs.steps.importing.step_parts import StepParts
from cocite_jobs.steps.parts import Part, Result
from helpers.killed_driver import held


@dataclass(frozen=True)
class KilledOnce(StageParts):
    """Ends its process with SIGKILL once, after a part is staged and before it is recorded."""

    def open(self) -> Callable[[Part], Result]:
        make = super().open()
        died = Path(self.folder.parent.parent.path) / "died"

        def make_or_die(part: Part) -> Result:
            result = make(part)
            if not died.exists():
                died.write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return make_or_die


@dataclass(frozen=True)
class StepKilledOnce(StepParts):
    """Ends its process with SIGKILL once a step, after a part is uploaded and before it is recorded."""

    def open(self) -> Callable[[Part], Result]:
        make, died = super().open(), f"died-{type(self.step).__name__}"

        def make_or_die(part: Part) -> Result:
            result = make(part)
            if self.folder.parent.read(died) is None:
                self.folder.parent.write(died, str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return make_or_die


@dataclass(frozen=True)
class Held(StageParts):
    """Stages so many parts as the test wants, and no more."""

    def open(self) -> Callable[[Part], Result]:
        return held(super().open())
