"""What a training may know, and what it is tuned on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from cocite.bounds import Total, Year
from cocite.config import Settings
from cocite.corpus.history import History
from cocite.corpus.records import SPLITS
from cocite.corpus.store import Corpus
from cocite.errors import InputError


class PeriodSettings(Settings):
    """Which papers' links are trained on, and which tune."""

    train_until: Year | None = None
    """Links of papers to this year are trained on. Unset: the corpus' own split, else the first 80 % by year."""
    dev_until: Year | None = None
    """Papers after ``train_until`` and up to this year are the dev queries. Unset: the next year."""
    dev_queries: Total = 1000
    """At most so many dev queries, drawn evenly."""

    @model_validator(mode="after")
    def _ordered(self) -> PeriodSettings:
        if self.train_until is not None and self.dev_until is not None and self.train_until >= self.dev_until:
            raise ValueError(f"dev_until is {self.dev_until}, no later than train_until, {self.train_until}")
        return self


@dataclass(frozen=True)
class Periods:
    """The history that is trained on, and the (D,) rows of the dev queries."""

    history: History
    dev: NDArray[np.int32]

    @classmethod
    def of(cls, corpus: Corpus, settings: PeriodSettings, *, all_dev: bool = False) -> Periods:
        """Settle the periods; a corpus with no link to train on, or none to tune on, is an error.

        Args:
            corpus: the papers.
            settings: the years.
            all_dev: whether every dev paper is taken, for who limits their contexts instead.
        """
        linked = corpus.cites.degrees > 0
        years, split = np.asarray(corpus.years), np.asarray(corpus.split)
        if settings.train_until is None and (split == SPLITS.index("train")).any():
            train, dev = split == SPLITS.index("train"), split == SPLITS.index("dev")
        else:
            train_until = settings.train_until
            if train_until is None:
                known = np.sort(years[linked & (years > 0)])
                if not len(known):
                    raise InputError("no paper with links has a year", hint="import the corpus with a split")
                train_until = int(known[int(0.8 * (len(known) - 1))])
                if train_until == known[-1]:
                    train_until -= 1
            train = (years > 0) & (years <= train_until)
            later = years > train_until
            if settings.dev_until is not None:
                dev = later & (years <= settings.dev_until)
            else:
                nearest = years[linked & later].min(initial=np.iinfo(np.int16).max)
                dev = later & (years == nearest)
        rows = np.flatnonzero(dev & linked).astype(np.int32)
        if not (train & linked).any():
            raise InputError("no paper of the training period cites another", where="train_until")
        if not len(rows):
            raise InputError("no paper of the dev period cites another", where="dev_until")
        if len(rows) > settings.dev_queries and not all_dev:
            rows = rows[np.linspace(0, len(rows) - 1, settings.dev_queries).astype(np.int64)]
        return cls(History(corpus, train), rows)
