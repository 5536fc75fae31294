"""A study that takes no time, for the tests of the drivers: it climbs step by step to a height that its parameters say.

A parameter may also make it fail, end its process once, or stand still until a file appears.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from cocite.config import Settings
from cocite.errors import InputError
from cocite_tuning.studies.settings import STUDIES
from cocite_tuning.studies.study import Report


class ToySettings(Settings):
    kind: Literal["toy"] = "toy"
    light: bool = True
    steps: int = 4
    seconds: float = 0.0
    """Of a step."""

    def open(self, corpus: Path, shared: Path) -> Toy:
        return Toy(self, shared)


class Toy:
    keys: Mapping[str, Any] = {
        "x": Annotated[float, Field(ge=-10, le=10)],
        "size": int,
        "steps": int,
        "trouble": Literal["none", "input", "defect", "death", "deaths"],
    }

    def __init__(self, settings: ToySettings, shared: Path) -> None:
        self.settings, self.shared, self.light = settings, shared, settings.light

    def prepare(self) -> None:
        self.shared.mkdir(parents=True, exist_ok=True)
        with (self.shared / "prepared").open("a") as file:
            file.write("once\n")

    def run(self, params: Mapping[str, Any], report: Report, folder: Path) -> dict[str, float]:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "log").open("a") as file:
            file.write(f"{os.getpid()}\n")
        trouble, height = params.get("trouble", "none"), -abs(float(params.get("x", 3.0)) - 1)
        if trouble == "input":
            raise InputError("x is not to its liking", where="toy")
        if trouble == "defect":
            raise ZeroDivisionError("a defect")
        steps = int(params.get("steps", self.settings.steps))
        for step in range(1, steps + 1):
            time.sleep(self.settings.seconds)
            report({"height": height * (1 + 1 / step), "loss": 1 / step}, step)
            began = len((folder / "log").read_text().splitlines())
            if trouble == "deaths" or (trouble == "death" and began == 1):
                os._exit(1)
        return {"height": height, "latency_ms": float(params.get("size", 1))}


def enter() -> None:
    """Make the kind known to sweep files."""
    STUDIES["toy"] = ToySettings
