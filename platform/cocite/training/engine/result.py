"""The result of a training, and which of its weights were kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cocite.nn.cpu_kernels import Precision
from cocite.training.engine.schedule import rate_factor
from cocite.training.engine.settings import ScheduleSettings


@dataclass(frozen=True)
class TrainResult:
    """The result of a training.

    Attributes:
        steps: optimizer steps taken.
        best_step: the step whose weights the model is left with.
        best: dev metrics of those weights.
        last: dev metrics of the last step's weights.
        start: dev metrics of the weights before the first step.
        seconds: how long it took, evaluation and resumed parts included.
        tokens: tokens of the examples trained on.
        reason: why it ended.
        precision: what it computed in, which may be fp32 though bf16 was asked for
            (:func:`cocite.nn.precision.training_precision`).
        planned: steps of the whole training.

    Example:
        >>> result = TrainResult(200, 100, {"R@20": 0.42}, {"R@20": 0.40}, {"R@20": 0.10}, 9.5, 80_000, "patience")
        >>> result.kept("R@20")
        'step 100 was best (R@20 0.420; the start had 0.100): its weights are kept'
    """

    steps: int
    best_step: int
    best: dict[str, float]
    last: dict[str, float]
    start: dict[str, float]
    seconds: float
    tokens: int
    reason: Literal["done", "minutes", "patience"]
    precision: Precision = "fp32"
    planned: int = 0

    def kept(self, metric: str) -> str:
        """The sentence that says which weights were kept: those of the best of all evaluations by ``metric``."""
        best = self.best[metric]
        if self.best_step == 0:
            return (
                f"no step was better than the start ({metric} {best:.3f}): the weights of the start are kept"
            )
        # A checkpoint of an earlier version does not hold the metrics of the start.
        start = f"; the start had {self.start[metric]:.3f}" if metric in self.start else ""
        return f"step {self.best_step} was best ({metric} {best:.3f}{start}): its weights are kept"

    def cut_short(self, schedule: ScheduleSettings) -> str:
        """The sentence that says where a training stood when its minutes were over; empty for others.

        Args:
            schedule: of its learning rate.
        """
        if self.reason != "minutes" or not self.steps:
            return ""
        share = rate_factor(schedule, self.steps - 1, self.planned)
        return (
            f"the minutes were over at step {self.steps:,} of {self.planned:,}, where the learning rate was "
            f"{share:.0%} of its highest: training.steps={self.steps} would follow the whole schedule in that time"
        )
