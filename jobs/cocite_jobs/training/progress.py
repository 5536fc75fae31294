"""What a training says of its progress, on its way from the worker that says it to whoever asked for the training."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cocite.training.engine.settings import TrainingSettings
from cocite_jobs.training.train import Report

Event = tuple[str, Any, int]
"""``("log", metrics, step)``, ``("at", total steps, step)`` or ``("stage", text, 0)``: they may travel."""
EVERY_S = 0.5
"""How often the position is told, at most."""


class Teller:
    """Listens to the loop on the worker that speaks for all.

    Args:
        send: takes each event.
        settings: of the training, for its length.
    """

    def __init__(self, send: Callable[[Event], None], settings: TrainingSettings) -> None:
        self.send, self.epochs = send, settings.epochs
        self.step, self.total = 0, settings.steps or 0
        self.entries: list[tuple[dict[str, float], int]] = []  # all that was logged
        self._told = 0.0

    def stage(self, text: str) -> None:
        """What begins now."""
        self.send(("stage", text, 0))

    def resume(self, step: int, logged: Sequence[tuple[Mapping[str, float], int]] = ()) -> None:
        """The training goes on from a step; what was logged up to there is told again, for who missed some of it."""
        self.step = step
        self.stage(f"going on from step {step}")
        for metrics, at in logged:
            self.log(metrics, at)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Metrics of a step."""
        epoch = metrics.get("epoch", 0.0)
        if not self.total and epoch:  # steps so far, and the share of an epoch that they are
            self.total = round(step / epoch * self.epochs)
        self.entries.append((dict(metrics), step))
        self.send(("log", dict(metrics), step))

    def advance(self, steps: int) -> None:
        """Steps were taken."""
        self.step += steps
        now = time.monotonic()
        if now - self._told >= EVERY_S or self.step == self.total:
            self._told = now
            self.send(("at", self.total, self.step))


class Listener:
    """Hands events on to a report, each metric of each step once, however often workers went over it.

    Args:
        report: whom to tell.
        name: of the training.
    """

    def __init__(self, report: Report, name: str) -> None:
        self.report, self.name = report, name
        self._logged: dict[str, int] = {}
        self._total = self._shown = 0

    def hear(self, event: Event) -> None:
        """Hand on one event."""
        what, value, step = event
        if what == "log":
            new = {name: number for name, number in value.items() if step > self._logged.get(name, -1)}
            self._logged |= dict.fromkeys(new, step)
            if new:
                self.report.log(new, step)
        elif what == "at":
            if value != self._total:
                self._total, self._shown = value, 0
                self.report.stage(self.name, value)
            if step > self._shown:
                self.report.advance(step - self._shown)
                self._shown = step
        else:
            self.report.stage(value, 0)
