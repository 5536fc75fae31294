"""A kind of recipe whose input is made with trouble, for tests of the task that makes inputs on Ray."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Literal

from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import NotFoundError
from cocite.training.engine.settings import WorkerSettings
from cocite.training.input_artifacts import Advance, Stage, make_input
from cocite_jobs.training.registry import KINDS, PreparedInput, RecipeKind

KIND = "troubled"
LONG_S = 600


class TroubleSettings(Settings):
    """What happens while the input is made, and the folder in which its maker leaves notes."""

    what: Literal["nothing", "killed once", "killed", "long", "lacks", "defect"] = "nothing"
    notes: str
    lacks: str = ""
    """The file that is not there."""


class TroubleRecipe(Settings):
    """Of a kind that cannot be trained."""

    kind: Literal["troubled"] = "troubled"
    trouble: TroubleSettings
    workers: WorkerSettings = WorkerSettings()


def prepare(
    settings: TroubleSettings, corpus: Corpus, folder: Path, *, stage: Stage, advance: Advance
) -> bool:
    """Write the process' id into the artifact."""
    notes = Path(settings.notes)

    def write(to: Path) -> None:
        (to / "process").write_text(str(os.getpid()))
        with (notes / "begun").open("a") as begun:
            begun.write(f"{os.getpid()}\n")
        killed_before = len((notes / "begun").read_text().split()) > 1
        if settings.what == "killed" or (settings.what == "killed once" and not killed_before):
            os.kill(os.getpid(), signal.SIGKILL)
        if settings.what == "lacks":
            raise NotFoundError("no such file", where=settings.lacks)
        if settings.what == "defect":
            raise ZeroDivisionError("a defect")
        stage("troubles", 7)
        advance(3)
        until = time.monotonic() + LONG_S
        try:
            while settings.what == "long" and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            (notes / "ended").touch()
        advance(4)

    return make_input(KIND, settings, corpus, folder, write)


def register() -> None:
    """Register the kind."""
    KINDS[KIND] = RecipeKind(
        "helpers.troubled_inputs:TroubleRecipe",
        task="helpers.troubled_inputs:none",
        inputs=(PreparedInput("trouble", KIND, "helpers.troubled_inputs:prepare"),),
    )
