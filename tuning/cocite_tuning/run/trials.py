"""The trials of a sweep, as one JSON file: what the driver writes and what the report and the champion read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cocite.atomic_files import write_atomic
from cocite.errors import IntegrityError, NotFoundError

LATENCY = "latency_ms"
"""Milliseconds of a query: the metric by which a trial says what its choice costs."""
State = Literal["finished", "stopped", "failed"]


class Trial(BaseModel):
    """One choice of parameters, and what came of it."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        ser_json_inf_nan="constants",  # a metric may be NaN, and comes back as such
    )

    number: int
    """From 0, in the order in which the sampler drew them; never used twice in a sweep."""
    params: dict[str, Any]
    """Dotted name -> value. A conditional parameter is absent where its condition did not hold."""
    metrics: dict[str, float] = Field(default_factory=dict)
    """The final metrics; of a stopped trial the last that it reported; of a failed one perhaps none."""
    curve: tuple[tuple[int, dict[str, float]], ...] = ()
    """The learning curve: (step, metrics), steps increasing."""
    state: State = "finished"
    """``stopped``: by the scheduler, for others did better at the same step. ``failed``: after all retries."""
    phase: Literal["", "short", "full"] = ""
    """Of a sweep in two phases, the one it belongs to: short trials choose which are trained in full."""
    seconds: float = 0.0
    """Wall-clock time, retries and resumed parts included."""
    run_id: str = ""
    """Its MLflow run; empty where none was kept."""
    error: str = ""
    """One sentence, for a failed trial."""


class Trials(BaseModel):
    """All trials of a sweep."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sweep: str
    """The sweep's name."""
    metric: str
    """What is optimised, a name in each trial's ``metrics``."""
    mode: Literal["max", "min"] = "max"
    trials: tuple[Trial, ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what :meth:`write` wrote.

        Raises:
            NotFoundError: there is no such file.
            IntegrityError: it holds something else.
        """
        path = Path(path)
        try:
            return cls.model_validate_json(path.read_bytes())
        except (FileNotFoundError, IsADirectoryError) as error:
            raise NotFoundError("no such file of trials", where=str(path)) from error
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise IntegrityError(
                f"not a file of trials: {place + ': ' if place else ''}{first['msg']}", where=str(path)
            ) from error

    def write(self, path: str | Path) -> None:
        """Write all trials; a reader sees the old file or the new one, whole."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, self.model_dump_json(indent=1) + "\n")

    def value(self, trial: Trial) -> float:
        """The sweep's metric of a trial; NaN where it has none."""
        return trial.metrics.get(self.metric, math.nan)

    @property
    def ranked(self) -> list[Trial]:
        """The finished trials whose metric is a number, best first; among equals the quicker first, then the earlier.

        Of a sweep in two phases, the fully trained ones alone as soon as there is one: a short training's metric does
        not compare with a full one's.
        """
        sign = -1 if self.mode == "max" else 1
        done = [t for t in self.trials if t.state == "finished" and math.isfinite(self.value(t))]
        full = [trial for trial in done if trial.phase == "full"]

        def order(trial: Trial) -> tuple[float, float, int]:
            return sign * self.value(trial), trial.metrics.get(LATENCY, math.inf), trial.number

        return sorted(full or done, key=order)

    def best(self, *, at_most: Mapping[str, float] | None = None) -> Trial:
        """The best finished trial, among those whose other metrics keep within their limits.

        Args:
            at_most: metric -> greatest allowed value, such as ``{"latency_ms": 50}``; a trial that lacks it is out.

        Raises:
            NotFoundError: there is none.
        """
        limits = dict(at_most or {})
        ranked = self.ranked
        if not ranked:
            raise NotFoundError(f"no trial finished with the metric {self.metric!r}", where=self.sweep)
        for trial in ranked:
            if all(trial.metrics.get(name, math.inf) <= limit for name, limit in limits.items()):
                return trial
        name, limit = next(iter(limits.items()))
        least = min(trial.metrics.get(name, math.inf) for trial in ranked)
        raise NotFoundError(
            f"no trial keeps {name} within {limit:g}",
            where=self.sweep,
            hint=f"the least that a trial needed is {least:.4g}",
        )

    def table(self) -> dict[str, list[Any]]:
        """All trials as columns of equal length; None where a trial has no value.

        ``number``, ``state``, ``phase``, ``seconds``, ``run_id``, then ``params.NAME`` and ``metrics.NAME``, each in
        the order in which trials first name it.
        """
        params = dict.fromkeys(name for trial in self.trials for name in trial.params)
        metrics = dict.fromkeys(name for trial in self.trials for name in trial.metrics)
        columns: dict[str, list[Any]] = {
            name: [getattr(trial, name) for trial in self.trials]
            for name in ("number", "state", "phase", "seconds", "run_id")
        }
        columns |= {f"params.{name}": [trial.params.get(name) for trial in self.trials] for name in params}
        columns |= {f"metrics.{name}": [trial.metrics.get(name) for trial in self.trials] for name in metrics}
        return columns
