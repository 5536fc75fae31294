"""Which links a training may use, and which papers are its dev queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from cocite.bounds import Total, Year
from cocite.config import Settings
from cocite.corpus.cold_history import cold_history
from cocite.corpus.history import History
from cocite.corpus.records import SPLITS
from cocite.corpus.store import Corpus
from cocite.errors import InputError

OVERLAP = 0.05
"""Up to this share of (training paper, dev paper) pairs may be in the wrong order where years separate them."""


class PeriodSettings(Settings):
    """Which papers' links are trained on, and which tune.

    Example:
        >>> PeriodSettings.parse({"train_until": 2012, "dev_until": 2010})
        Traceback (most recent call last):
        cocite.errors.ConfigError: dev_until is 2010, no later than train_until, 2012
    """

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
    """The history that is trained on, and the dev queries.

    Attributes:
        history: the links of the training papers.
        dev: (D,) rows.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> periods = Periods.of(starter_corpus(), PeriodSettings(dev_queries=10))
        >>> len(periods.dev), bool(periods.history.citing[periods.dev].any())
        (10, False)
    """

    history: History
    dev: NDArray[np.int32]

    @cached_property
    def years_separate(self) -> bool:
        """Whether years separate the training papers from the dev queries: the former lie before the latter.

        Then a training query may know what papers of earlier years say, as a dev query does. Otherwise (a random
        split, one year, years unknown) a dev query knows the links of papers of its own year and later, so a training
        query may know those of all other training papers.

        A small share of pairs in the wrong order is allowed (``OVERLAP``); a paper without a year is in the wrong
        order with all others.
        """
        corpus = self.history.corpus
        years = np.asarray(corpus.years)
        training = years[self.history.citing & (corpus.cites.degrees > 0)]
        dated = np.sort(training[training > 0])
        before = np.searchsorted(dated, years[self.dev])  # training papers of a year before each dev query's
        return bool(before.mean() >= (1 - OVERLAP) * len(training))

    @classmethod
    def of(cls, corpus: Corpus, settings: PeriodSettings, *, all_dev: bool = False) -> Periods:
        """The periods of a corpus.

        Args:
            corpus: the papers.
            settings: the years.
            all_dev: whether every dev paper is taken, where the number of their contexts is limited instead.
        """
        if (cold := cold_history(History.all(corpus), "of the corpus", "")) is not None:
            raise cold
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
                # The last year must be left to dev.
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
        history = History(corpus, train)
        hint = "choose period.train_until=YEAR, or split by papers: cocite corpus split STORE --random 0.1,0.1 --to NEW"
        if (cold := cold_history(history, "of the training period", hint)) is not None:
            raise cold
        if not len(rows):
            raise _no_dev(settings, int(years[linked].max()))
        if len(rows) > settings.dev_queries and not all_dev:
            rows = rows[np.linspace(0, len(rows) - 1, settings.dev_queries).astype(np.int64)]
        return cls(history, rows)


def _no_dev(settings: PeriodSettings, last: int) -> InputError:
    """Say which setting leaves the dev period without links, where the corpus' links end in the year ``last``."""
    where, hint = "the split", "split the corpus so that dev papers cite others: cocite corpus split"
    if settings.dev_until is not None:
        where = f"period.dev_until={settings.dev_until}"
        hint = f"choose a later year; the last paper that cites another is of {last}"
    elif settings.train_until is not None:
        where = f"period.train_until={settings.train_until}"
        hint = f"choose an earlier year; the last paper that cites another is of {last}"
    return InputError("no paper of the dev period cites another", where=where, hint=hint)
