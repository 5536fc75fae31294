"""The trials of a sweep as one JSON file, ``trials.json``: a running sweep writes it, the report reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cocite.atomic_files import write_atomic
from cocite.errors import IntegrityError, NotFoundError
from cocite_jobs.storage.location import Location

TRIALS_FILE = "trials.json"
"""Name of the file within a sweep's folder."""
LATENCY = "latency_ms"
"""The metric that holds milliseconds per query."""
State = Literal["finished", "stopped", "failed"]
Phase = Literal["", "short", "full"]
Curve = tuple[tuple[int, dict[str, float]], ...]
"""(step, metrics) pairs, steps increasing."""


class Trial(BaseModel):
    """One choice of parameters and its metrics.

    Example:
        >>> trial = Trial(number=3, params={"k1": 1.4, "b": 0.6}, metrics={"MRR": 0.31})
        >>> trial.state, trial.metrics["MRR"]
        ('finished', 0.31)
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        ser_json_inf_nan="constants",  # a metric may be NaN, which plain JSON has no word for
    )

    number: int
    """Counted from 0, in the order in which the sampler drew them; never used twice in a sweep."""
    params: dict[str, Any]
    """Dotted name -> value. A conditional parameter is absent where its condition did not hold."""
    metrics: dict[str, float] = Field(default_factory=dict)
    """The final metrics; of a stopped trial the last that it reported; of a failed one perhaps none."""
    curve: Curve = ()
    """The learning curve."""
    state: State = "finished"
    """``stopped``: the scheduler ended it, for others did better at the same step. ``failed``: after all retries."""
    phase: Phase = ""
    """Its phase, in a sweep of two: the short trials decide which are trained in full."""
    seconds: float = 0.0
    """Wall-clock time, retries and resumed parts included."""
    run_id: str = ""
    """Id of its MLflow run; empty without tracking."""
    error: str = ""
    """Why a failed trial failed, in one sentence."""


class Trials(BaseModel):
    """All trials of a sweep.

    Example:
        >>> fast = Trial(number=0, params={"depth": 20}, metrics={"R@10": 0.41, "latency_ms": 8.0})
        >>> deep = Trial(number=1, params={"depth": 500}, metrics={"R@10": 0.44, "latency_ms": 95.0})
        >>> trials = Trials(sweep="depths", metric="R@10", trials=(fast, deep))
        >>> trials.best().params, trials.best(at_most={"latency_ms": 50}).params
        ({'depth': 500}, {'depth': 20})
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sweep: str
    """The sweep's name."""
    metric: str
    """The metric that is optimised, a key of each trial's ``metrics``."""
    mode: Literal["max", "min"] = "max"
    trials: tuple[Trial, ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file that :meth:`write` wrote.

        Raises:
            NotFoundError: there is no such file.
            IntegrityError: it holds something else.
        """
        path = Path(path)
        try:
            return cls.parse(path.read_bytes(), str(path))
        except (FileNotFoundError, IsADirectoryError) as error:
            raise NotFoundError("no such file of trials", where=str(path)) from error

    @classmethod
    def parse(cls, text: bytes, where: str) -> Self:
        """The trials of a file's content.

        Args:
            text: the content.
            where: the file's path or URI, for errors.

        Raises:
            IntegrityError: it is something else.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise IntegrityError(
                f"not a file of trials: {key + ': ' if key else ''}{first['msg']}", where=where
            ) from error

    def write(self, path: str | Path) -> None:
        """Write all trials, atomically: a reader finds the old file or the new one."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, self.to_json())

    def to_json(self) -> str:
        """The content of the file."""
        return self.model_dump_json(indent=1) + "\n"

    def value(self, trial: Trial) -> float:
        """The sweep's metric of a trial; NaN where it has none."""
        return trial.metrics.get(self.metric, math.nan)

    @property
    def ranked(self) -> list[Trial]:
        """The finished trials whose metric is a number, best first; among equals the faster first, then the earlier.

        In a sweep of two phases only the fully trained ones count as soon as there is one: a short training's metric
        does not compare with a full one's.
        """
        sign = -1 if self.mode == "max" else 1
        finished = [t for t in self.trials if t.state == "finished" and math.isfinite(self.value(t))]
        full = [trial for trial in finished if trial.phase == "full"]

        def order(trial: Trial) -> tuple[float, float, int]:
            return sign * self.value(trial), trial.metrics.get(LATENCY, math.inf), trial.number

        return sorted(full or finished, key=order)

    def best(self, *, at_most: Mapping[str, float] | None = None) -> Trial:
        """The best finished trial among those whose other metrics are within their limits.

        Args:
            at_most: metric -> greatest allowed value, such as ``{"latency_ms": 50}``; a trial must have that metric.

        Raises:
            NotFoundError: no trial finished, or none is within the limits.
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


def read_trials(place: str | Path) -> Trials:
    """Read the trials of a sweep, given the path or URI of their file or of the sweep's folder.

    Raises:
        NotFoundError: neither is there.
        IntegrityError: the file holds something else.
        CociteError: the URI's file system does not answer.
    """
    location = Location.of(place)
    if location.is_file():
        folder, name = location.parent, location.name
    else:
        folder, name = location, TRIALS_FILE
    content = folder.read(name)
    if content is None:
        raise NotFoundError(f"holds no {TRIALS_FILE}", where=str(place), hint="name the folder of a sweep")
    return Trials.parse(content, (folder / name).uri)
