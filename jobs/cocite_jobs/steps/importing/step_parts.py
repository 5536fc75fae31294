"""The steps of an import after the reading, whose parts are numbered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cocite.corpus.division.order_range import OrderRange
from cocite.corpus.division.resolve_part import ResolvePart
from cocite_jobs.steps.parts import Part, Result
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.part_files import part_files
from cocite_jobs.storage.transfer import fetch

NumberedStep = ResolvePart | OrderRange


@dataclass(frozen=True)
class StepParts:
    """Makes the numbered parts of a step.

    Attributes:
        step: what a part is made by.
        folder: where the parts read and write, which every worker sees.

    Example:
        >>> StepParts(OrderRange("divided", bodies=True), Location.of("memory://parts")).step.shared
        'divided/plan'
    """

    step: NumberedStep
    folder: Location

    def open(self) -> Callable[[Part], Result]:
        """Open what all parts need, once for all parts that a process makes; a machine copies it once."""
        make = self.step.open(fetch((self.folder / self.step.shared).uri))

        def make_part(part: Part) -> Result:
            with part_files(self.folder) as files:
                return make(files, part.arguments)

        return make_part
