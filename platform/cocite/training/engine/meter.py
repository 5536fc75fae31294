"""Measures the steps for the log: means, speed, and the share of the device's peak."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from cocite.errors import CociteError
from cocite.training.engine.flops import peak_flops
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World


class Meter:
    """Adds up what happens between two readings; time spent on evaluation and checkpoints does not count.

    Example:
        >>> meter = Meter(World(), TrainingSettings())
        >>> meter.add(loss=2.0, rate=0.1, norm=1.0, tokens=64, flops=1e6)
        >>> meter.add(loss=4.0, rate=0.1, norm=3.0, tokens=64, flops=1e6)
        >>> reading = meter.read()
        >>> reading["loss"], reading["gradient_norm"]
        (3.0, 2.0)
    """

    def __init__(self, world: World, settings: TrainingSettings) -> None:
        self.world, self.precision = world, settings.precision
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._since, self._idle = time.monotonic(), 0.0
        self._steps, self._tokens, self._flops = 0, 0, 0.0
        self._loss = self._norm = self._rate = 0.0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the time that the block takes out of the speed."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._idle += time.monotonic() - began

    def add(self, loss: float, rate: float, norm: float, tokens: int, flops: float) -> None:
        """A step was taken.

        Args:
            loss: mean over the step's examples.
            rate: learning rate.
            norm: of the gradient, before clipping.
            tokens: of all ranks.
            flops: of this rank.
        """
        self._steps += 1
        self._loss, self._norm, self._rate = self._loss + loss, self._norm + norm, rate
        self._tokens, self._flops = self._tokens + tokens, self._flops + flops

    def read(self) -> dict[str, float]:
        """Means and rates since the last reading; all ranks call it together. ``mfu`` only where FLOPs are known."""
        seconds = max(time.monotonic() - self._since - self._idle, 1e-9)
        flops = float(
            self.world.sum(torch.tensor(self._flops, dtype=torch.float64, device=self.world.device))
        )
        steps = max(self._steps, 1)
        result = {
            "loss": self._loss / steps,
            "learning_rate": self._rate,
            "gradient_norm": self._norm / steps,
            "tokens_per_second": self._tokens / seconds,
        }
        if flops:  # else the task does not know how many it needs
            result["mfu"] = (
                flops / seconds / (peak_flops(self.world.device, self.precision) * self.world.size)
            )
        self.clear()
        return result


def check_number(value: float, what: str, step: int) -> None:
    """Refuse a loss or a gradient that is no number.

    Args:
        value: of the next step.
        what: it is.
        step: steps taken.

    Raises:
        CociteError: it is none.

    Example:
        >>> check_number(0.5, "loss", 12)
    """
    if not math.isfinite(value):
        raise CociteError(
            f"the {what} became {value} in step {step + 1}",
            where="training",
            hint="lower optimizer.learning_rate or set optimizer.clip; the last checkpoint is as it was",
        )
