"""What a sweep asks of the thing it tunes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

Report = Callable[[dict[str, float], int], None]
"""``report(metrics, step)``: metrics at a step of a trial's learning curve. It may end the trial by raising."""


class Study(Protocol):
    """A thing with parameters, and a way to tell how good a choice of them is.

    A study is described in a sweep file, prepared once, and run many times, each time in a process of its own if the
    driver likes: it must survive pickling between :meth:`prepare` and :meth:`run`, so what :meth:`prepare` makes is
    kept on disk and opened again by the process that needs it.
    """

    @property
    def keys(self) -> Mapping[str, Any]:
        """Dotted name -> type annotation of each parameter it takes, as ``pydantic.TypeAdapter`` reads it.

        ``{"model.dimension": int, "k1": Annotated[float, Field(gt=0)]}``. A space that names another key is refused
        before anything starts, and so is a choice or a bound that the annotation does not take.
        """
        ...

    @property
    def light(self) -> bool:
        """Whether a trial takes well under a second: a process of its own would then cost more than the trial.

        Light trials are run one after another in the driver's own process: thousands of them in minutes.
        """
        ...

    def prepare(self) -> None:
        """Make and keep on disk what all trials share; cheap when it is there already. Once, before any trial."""
        ...

    def run(self, params: Mapping[str, Any], report: Report, folder: Path) -> dict[str, float]:
        """One trial.

        Args:
            params: dotted name -> value; a key that is left out keeps its default.
            report: told the learning curve, where there is one.
            folder: of this trial alone, for what it writes; the same again when the trial is resumed.

        Returns:
            The final metrics; the sweep's is one of them.
        """
        ...
