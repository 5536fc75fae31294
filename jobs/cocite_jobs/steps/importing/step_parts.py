"""The steps of an import after the reading, whose parts are numbered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cocite.corpus.division.order_range import OrderRange
from cocite.corpus.division.resolve_part import ResolvePart
from cocite_jobs.steps.parts import Part, Result

NumberedStep = ResolvePart | OrderRange


@dataclass(frozen=True)
class StepParts:
    """Makes the numbered parts of a step.

    Attributes:
        step: what a part is made by.

    Example:
        >>> from pathlib import Path
        >>> StepParts(OrderRange(Path("resolved"), 7, Path("ordered"), bodies=True)).step.parts
        7
    """

    step: NumberedStep

    def open(self) -> Callable[[Part], Result]:
        """Open the step, once for all parts that a process makes."""
        make = self.step.open()
        return lambda part: make(part.arguments)
