"""A study whose trials take no time, for tests of sweeps: its metric rises step by step to a value that ``x`` sets.

A parameter may also make a trial fail, or end its process once or always.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from cocite.config import Settings
from cocite.errors import InputError
from cocite_jobs.storage.location import Location
from cocite_tuning.studies.study import ReportMetrics
from cocite_tuning.sweep.study_kinds import STUDY_KINDS, StudyKind


class ToySettings(Settings):
    kind: Literal["toy"] = "toy"
    light: bool = True
    """Whether the trials run in the sweep's own process."""
    steps: int = 4
    seconds: float = 0.0
    """How long a step takes."""


class Toy:
    parameter_types: Mapping[str, Any] = {
        "x": Annotated[float, Field(ge=-10, le=10)],
        "size": int,
        "steps": int,
        "trouble": Literal["none", "input", "defect", "death", "deaths"],
    }

    def __init__(self, settings: ToySettings, corpus: Path, shared: Path) -> None:
        self.settings, self.shared, self.in_process = settings, shared, settings.light

    def prepare(self, *, wait: bool = False) -> None:
        self.shared.mkdir(parents=True, exist_ok=True)
        with (self.shared / "prepared").open("a") as file:
            file.write("once\n")

    def run(self, params: Mapping[str, Any], report: ReportMetrics, folder: Path | str) -> dict[str, float]:
        place = Location.of(folder)
        place.write("log", f"{(place.read('log') or b'').decode()}{os.getpid()}\n")
        trouble, height = params.get("trouble", "none"), -abs(float(params.get("x", 3.0)) - 1)
        if trouble == "input":
            raise InputError("x is not to its liking", where="toy")
        if trouble == "defect":
            raise ZeroDivisionError("a defect")
        steps = int(params.get("steps", self.settings.steps))
        for step in range(1, steps + 1):
            time.sleep(self.settings.seconds)
            report({"height": height * (1 + 1 / step), "loss": 1 / step}, step)
            starts = len((place.read("log") or b"").splitlines())
            if trouble == "deaths" or (trouble == "death" and starts == 1):
                os._exit(1)
        return {"height": height, "latency_ms": float(params.get("size", 1))}


TOY = {
    "name": "toy",
    "study": {"kind": "toy"},
    "space": {"x": {"uniform": [-3, 3]}},
    "metric": {"name": "height"},
}
"""The least settings of a sweep of this study."""


def register() -> None:
    """Enter the kind ``toy`` for sweep files."""
    STUDY_KINDS["toy"] = StudyKind("helpers.toy_study:ToySettings", "helpers.toy_study:Toy")


@contextmanager
def registered() -> Iterator[None]:
    """Enter the kind while the block runs."""
    register()
    try:
        yield
    finally:
        STUDY_KINDS.pop("toy")
