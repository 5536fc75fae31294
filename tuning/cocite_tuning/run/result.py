"""What came of a sweep: its best trial, what that is worth on queries that no trial saw, and how it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError

from cocite.atomic_files import write_atomic
from cocite.errors import IntegrityError
from cocite.evaluation.significance import Comparison
from cocite_tuning.run.trials import Trial

FILE = "best.json"
LEVEL = 0.05
"""Greatest p of a difference that is called one; a champion's is the same unless its sweep says otherwise."""
Mode = Literal["max", "min"]
"""Whether the greater or the smaller value of a metric is better."""


class Outcome(Trial):
    """The best trial, with what was made of it after the last one had ended."""

    confirmation: Comparison | None = None
    """The best trial against the default on queries that no trial saw, by the sweep's metric; None: see ``why_not``."""
    why_not: str = ""
    """Why there is no confirmation, in a sentence; empty where nothing is kept from the trials by design."""
    commands: tuple[str, ...] = ()
    """What uses the trial's settings, in this order; recommended unless the default stays."""
    notes: tuple[str, ...] = ()
    """What the commands do not say."""

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The outcome of a sweep's folder; None where the sweep has not ended yet.

        Raises:
            IntegrityError: the file holds something else.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            return cls.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise IntegrityError(
                f"not the outcome of a sweep: {'.'.join(map(str, first['loc']))}: {first['msg']}",
                where=str(path),
            ) from error

    def write(self, folder: Path) -> None:
        """Write it into a sweep's folder; a reader sees the old one or the new one, whole."""
        write_atomic(folder / FILE, self.text())

    def text(self) -> str:
        """As the file holds it."""
        return self.model_dump_json(indent=1) + "\n"

    def default_stays(self, mode: Mode) -> bool | None:
        """Whether the trial was not shown to be better than the default; None where the two were not compared."""
        return None if self.confirmation is None else not is_better(self.confirmation, mode)

    def of(self, best: Trial | None) -> bool:
        """Whether a trial is the one that this was made of."""
        return best is not None and (best.number, best.params) == (self.number, self.params)


def is_better(comparison: Comparison, mode: Mode = "max", level: float = LEVEL) -> bool:
    """Whether the first of two is better than the second, significantly so: p is at most ``level``."""
    gain = comparison.difference if mode == "max" else -comparison.difference
    return gain > 0 and comparison.p <= level


def confirmed(comparison: Comparison, metric: str, mode: Mode) -> str:
    """A confirmation in words, and whether the default stays."""
    c, better = comparison, is_better(comparison, mode)
    verdict = (
        "better, and not by chance" if better else "worse" if c.p <= LEVEL else "no difference to speak of"
    )
    return (
        f"On {c.queries:,} queries that no trial saw: {metric} {c.mean:.4f} against the default's {c.other:.4f}, "
        f"{_p(c.p)}: {verdict}. The difference lies between {c.low:+.4f} and {c.high:+.4f} with 95 % confidence."
        + ("" if better else " The default stays.")
    )


def use_heading(recommended: bool) -> str:
    """What stands above the commands that use a trial's settings."""
    return "To use it" if recommended else "To use the trial all the same"


def _p(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
