"""A step whose parts are squares, written to files, for tests of how parts are made."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.atomic_files import write_atomic
from cocite.errors import InputError
from cocite_jobs.steps.parts import Part
from helpers.killed_driver import hold


@dataclass(frozen=True)
class Squares:
    """Writes the square of each part's argument.

    Attributes:
        folder: for the results.
        fails_at: the argument whose part raises an error.
        dies_at: the argument whose worker is killed, once.
    """

    folder: Path
    fails_at: int | None = None
    dies_at: int | None = None

    def open(self) -> Callable[[Part], dict[str, Any]]:
        (self.folder / f"opened-{os.getpid()}").touch()
        return self.make

    def make(self, part: Part) -> dict[str, Any]:
        number = part.arguments
        with (self.folder / "made.log").open("a") as log:
            log.write(f"{part.name}\n")
        hold()
        if number == self.fails_at:
            raise InputError("has no square", where=part.name, hint="take another")
        died = self.folder / "died"
        if number == self.dies_at and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        write_atomic(self.folder / part.name, str(number**2))
        return {"square": number**2}


@dataclass(frozen=True)
class VisibleGpus:
    """The result of each part is which GPUs its worker sees, as CUDA reads it."""

    def open(self) -> Callable[[Part], dict[str, Any]]:
        return lambda _: {"seen": os.environ.get("CUDA_VISIBLE_DEVICES")}


def parts(count: int) -> list[Part]:
    """Parts 0, 1, and so on."""
    return [Part(f"{number:02d}", 1, number) for number in range(count)]
