"""The result of a sweep, ``best.json``: its best trial, how that compares with the default, and how it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError

from cocite.atomic_files import write_atomic
from cocite.errors import IntegrityError
from cocite.evaluation.significance import Comparison
from cocite_jobs.storage.location import Location
from cocite_tuning.sweep.trials import Trial

RESULT_FILE = "best.json"
LEVEL = 0.05
"""Greatest p at which a difference is called significant, of the held-out comparison and by default of a champion's."""
Mode = Literal["max", "min"]
"""Whether the greater or the smaller value of a metric is better."""


class SweepResult(Trial):
    """The best trial of a finished sweep, with its comparison on held-out queries and the commands that use it.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from cocite.evaluation.significance import compare
        >>> chance = compare(np.array([0.2, 0.5, 0.3]), np.array([0.3, 0.5, 0.1]))
        >>> result = SweepResult(number=7, params={"k1": 2.0}, metrics={"MRR": 0.3}, confirmation=chance)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.write(Path(folder))
        ...     SweepResult.read(Path(folder)) == result
        True
        >>> result.default_stays("max")
        True
    """

    confirmation: Comparison | None = None
    """The best trial against the default on held-out queries, by the sweep's metric; None: see ``why_not``."""
    why_not: str = ""
    """Why there is no comparison, in a sentence; empty where the study holds no queries out by design."""
    commands: tuple[str, ...] = ()
    """Commands that use the trial's parameters, in this order; recommended unless the default stays."""
    notes: tuple[str, ...] = ()
    """What the commands do not say."""

    @classmethod
    def read(cls, folder: str | Path) -> Self | None:
        """Read the result from a sweep's folder, a path or a URI; None where the sweep has not ended yet.

        Raises:
            IntegrityError: the file holds something else.
            CociteError: the URI's file system does not answer.
        """
        place = Location.of(folder)
        content = place.read(RESULT_FILE)
        if content is None:
            return None
        try:
            return cls.model_validate_json(content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise IntegrityError(
                f"not the outcome of a sweep: {'.'.join(map(str, first['loc']))}: {first['msg']}",
                where=(place / RESULT_FILE).uri,
            ) from error

    def write(self, folder: Path) -> None:
        """Write the result into a sweep's folder, atomically: a reader finds the old file or the new one."""
        write_atomic(folder / RESULT_FILE, self.to_json())

    def to_json(self) -> str:
        """The result as the file holds it."""
        return self.model_dump_json(indent=1) + "\n"

    def default_stays(self, mode: Mode) -> bool | None:
        """Whether the trial was not shown to be better than the default; None where the two were not compared."""
        return None if self.confirmation is None else not is_better(self.confirmation, mode)

    def belongs_to(self, trial: Trial | None) -> bool:
        """Whether this result was made of a trial, by its number and parameters."""
        return trial is not None and (trial.number, trial.params) == (self.number, self.params)


def is_better(comparison: Comparison, mode: Mode = "max", level: float = LEVEL) -> bool:
    """Whether the first run of a comparison is significantly better than the second: p is at most ``level``."""
    gain = comparison.difference if mode == "max" else -comparison.difference
    return gain > 0 and comparison.p <= level


def confirmation_sentence(comparison: Comparison, metric: str, mode: Mode) -> str:
    """Say how the best trial compares with the default on held-out queries, and whether the default stays."""
    c, better = comparison, is_better(comparison, mode)
    verdict = (
        "better, and not by chance" if better else "worse" if c.p <= LEVEL else "no difference to speak of"
    )
    return (
        f"On {c.sample()} that no trial saw: {metric} {c.mean:.4f} against the default's {c.other:.4f}, "
        f"{_p(c.p)}: {verdict}. The difference lies between {c.low:+.4f} and {c.high:+.4f} with 95 % confidence."
        + ("" if better else " The default stays.")
    )


def usage_heading(recommended: bool) -> str:
    """The heading above the commands that use a trial's parameters."""
    return "To use it" if recommended else "To use the trial all the same"


def _p(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
