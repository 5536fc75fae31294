"""The histories that a mining's queries search, a part for each: made once, and mapped by the workers of a machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cocite.pipeline.candidate_mining import MiningPlan
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.opening import SavedIndex, open_index
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.saved_histories import open_history, save_history
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.training.candidates import CandidateSettings
from cocite.training.periods import Periods
from cocite_jobs.steps.files import fetch_seen, fetch_seen_index, open_seen
from cocite_jobs.steps.parts import Part, Result
from cocite_jobs.storage.location import Location

Histories = Callable[[int], Index | ShardedIndex]
"""Gives the index as it was before a year; 0: with all links of the training period."""


@dataclass(frozen=True)
class MakeHistories:
    """Writes an index under the history of a year; a :class:`~cocite_jobs.steps.parts.Work`.

    Attributes:
        corpus: a store, by its path or URI, which every worker sees.
        corpus_version: of the store.
        settings: of the mining; every worker sees the index that they name.
        to: the folder of the histories.

    Example:
        >>> work = MakeHistories("corpus", "12ab", CandidateSettings(index="index"), Location.of("/model/.histories"))
        >>> work.of(2015).path
        '/model/.histories/history-2015'
    """

    corpus: str
    corpus_version: str
    settings: CandidateSettings
    to: Location

    @staticmethod
    def parts(plan: MiningPlan) -> Sequence[Part]:
        """One for each history that the blocks of a plan search."""
        years = sorted({plan.year_of_history(block) for block in plan.blocks})
        return [Part(_name(year), 1, year) for year in years]

    def of(self, year: int) -> Location:
        """Where the history before a year lies."""
        return self.to / _name(year)

    def open(self) -> Callable[[Part], Result]:
        """Open corpus and index.

        Raises:
            CociteError: this machine does not see them, or sees others than the driver.
        """
        corpus = open_seen(self.corpus, self.corpus_version, bodies=False)
        training, saved = Periods.of(corpus, self.settings.period).history, self._index()

        def make(part: Part) -> Result:
            wall, cpu, year = time.perf_counter(), time.process_time(), part.arguments
            history = training.rewound(year - 1) if year else training
            index, to = index_of(corpus, history, saved=saved), self.of(year)
            if to.local is not None:
                save_history(index, to.local)
            else:
                with tempfile.TemporaryDirectory(prefix="cocite-history-") as folder:
                    save_history(index, Path(folder, part.name))
                    to.put(Path(folder, part.name))
            return {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}

        return make

    def reader(self) -> Histories:
        """What opens the histories that were made; each machine copies those that lie elsewhere once."""
        index = self._index()
        return lambda year: open_history(index, fetch_seen(self.of(year).uri))

    def _index(self) -> SavedIndex:
        if self.settings.index is None:
            raise ValueError("histories are made of an index, and the settings name none")
        return open_index(fetch_seen_index(self.settings.index))


def _name(year: int) -> str:
    return f"history-{year:04d}"
