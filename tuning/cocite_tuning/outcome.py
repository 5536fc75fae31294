"""What came of a sweep: its best trial, what that is worth on queries that no trial saw, and how it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError

from cocite.artifacts import write_atomic
from cocite.errors import IntegrityError
from cocite.evaluation.significance import Comparison
from cocite_tuning.trials import Trial

FILE = "best.json"
LEVEL = 0.05
"""Greatest p of a difference that is called one."""


class Outcome(Trial):
    """The best trial, with what was made of it after the last one had ended."""

    confirmation: Comparison | None = None
    """The best trial against the default on queries that no trial saw, by the sweep's metric; None: see ``why_not``."""
    why_not: str = ""
    """Why there is no confirmation, in a sentence; empty where nothing is kept from the trials by design."""
    commands: tuple[str, ...] = ()
    """To use it, in this order."""
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

    def of(self, best: Trial | None) -> bool:
        """Whether a trial is the one that this was made of."""
        return best is not None and (best.number, best.params) == (self.number, self.params)


def confirmed(comparison: Comparison, metric: str, mode: Literal["max", "min"]) -> str:
    """A confirmation in words; for ``mode`` see :class:`~cocite_tuning.trials.Trials`."""
    c = comparison
    if c.p > LEVEL:
        verdict = "no difference to speak of"
    else:
        verdict = "better, and not by chance" if (c.difference > 0) == (mode == "max") else "worse"
    return (
        f"On {c.queries:,} queries that no trial saw: {metric} {c.mean:.4f} against the default's {c.other:.4f}, "
        f"{_p(c.p)}: {verdict}. The difference lies between {c.low:+.4f} and {c.high:+.4f} with 95 % confidence."
    )


def _p(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
