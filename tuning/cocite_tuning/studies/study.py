"""The interface between a sweep and what it tunes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

ReportMetrics = Callable[[dict[str, float], int], None]
"""``report(metrics, step)``: metrics at a step of a trial's learning curve. It may end the trial by raising."""


class Study(Protocol):
    """Something with parameters, and a measure of how good a choice of them is.

    A sweep file describes a study; a sweep prepares it once and runs it many times, each time in a process of its own
    where the trials are long. A study is therefore pickled between :meth:`prepare` and :meth:`run`: what
    :meth:`prepare` makes is kept on disk, and the process that needs it opens it again.

    Example:
        A study of one parameter, whose trials take no time:

        >>> class Parabola:
        ...     parameter_types = {"x": float}
        ...     in_process = True
        ...     def prepare(self, *, wait=False): pass
        ...     def run(self, params, report, folder):
        ...         return {"height": -((params.get("x", 0.0) - 1) ** 2)}
        >>> study: Study = Parabola()
        >>> study.run({"x": 3.0}, print, Path())
        {'height': -4.0}
    """

    @property
    def parameter_types(self) -> Mapping[str, Any]:
        """Dotted name -> type annotation of each parameter, as ``pydantic.TypeAdapter`` reads it.

        ``{"model.dimension": int, "k1": Annotated[float, Field(gt=0)]}``. A space that names another key, or a choice
        or a bound that the annotation does not accept, is refused before anything starts.
        """
        ...

    @property
    def in_process(self) -> bool:
        """Whether a trial takes well under a second, so that a process of its own would cost more than the trial.

        Such trials run one after another in the sweep's own process: thousands of them in minutes.
        """
        ...

    def prepare(self, *, wait: bool = False) -> None:
        """Make what all trials share and keep it on disk, unless it is there already. Called once, before any trial.

        Args:
            wait: for resources that the cluster does not have yet, where a worker of it makes something.
        """
        ...

    def run(self, params: Mapping[str, Any], report: ReportMetrics, folder: Path | str) -> dict[str, float]:
        """Run one trial.

        Args:
            params: dotted name -> value; a key that is left out keeps its default.
            report: called with the points of the learning curve, where there is one.
            folder: for this trial's files alone, a URI where the sweep lies elsewhere; the same again when the trial
                is resumed.

        Returns:
            The final metrics, the sweep's among them.
        """
        ...
