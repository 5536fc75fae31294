"""Finds the candidates of queries whose answers are known, in blocks that do not depend on each other.

Where years separate the training papers from dev, a training query searches an index without the links of its own year
and later, so neither its own links nor its contemporaries' vote for what it cites: just as for a manuscript of today.
Elsewhere (a random split, one year) it searches an index with the links of all training papers but its own, as a dev
query does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.protocols import NO_ROW, Encoder
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import QueryForm
from cocite.retrieval.sharded_retrievers import bm25_retriever, vector_retriever
from cocite.training.candidates import CandidateSet, CandidateSettings, cited_rows, training_positions
from cocite.training.periods import Periods

BLOCK = 256
"""Queries searched together."""
Histories = Callable[[int], SearchIndex]
"""Gives an index as it was before a year; 0: with the training period as its history."""


@dataclass(frozen=True)
class MiningBlock:
    """Queries that are searched together.

    Attributes:
        part: ``train`` or ``dev``.
        year: of all queries of a training block, 0 where it is unknown; 0 for dev.
        queries: (q,) their numbers in the part.

    Example:
        >>> len(MiningBlock("train", 2015, np.array([3, 8, 9])))
        3
    """

    part: str
    year: int
    queries: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.queries)


@dataclass(frozen=True)
class MiningPlan:
    """The queries of a mining, in the blocks that they are searched in.

    It is a function of corpus and settings: whoever makes it anew has the same blocks.

    Attributes:
        settings: whose candidates.
        by_year: whether a training query searches the history before its own year.
        parts: the queries of training and of dev; their candidates are padding that takes no memory.
        blocks: of all queries, those of one year one behind the other.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus, settings = starter_corpus(), CandidateSettings(task="global", queries=20, dev_queries=5)
        >>> plan = MiningPlan.of(settings, Periods.of(corpus, settings.period))
        >>> sum(map(len, plan.blocks)), plan.blocks[-1].part, plan.parts["dev"].rows.shape
        (25, 'dev', (5, 50))
    """

    settings: CandidateSettings
    by_year: bool
    parts: Mapping[str, CandidateSet]
    blocks: tuple[MiningBlock, ...]

    @classmethod
    def of(cls, settings: CandidateSettings, periods: Periods) -> MiningPlan:
        """The plan of a corpus.

        Args:
            settings: which queries.
            periods: training papers and dev papers.

        Raises:
            InputError: a period has no query.
        """
        corpus, by_year = periods.history.corpus, periods.years_separate
        parts: dict[str, CandidateSet] = {}
        for name, papers, limit, depth in (
            ("train", _querying(periods, settings), settings.queries, settings.depth),
            ("dev", _mask(len(corpus), periods.dev), settings.dev_queries, settings.dev_depth),
        ):
            positions = training_positions(corpus, settings, papers, limit)
            if not len(positions):
                raise InputError(
                    f"no {settings.task} query lies in the {name} period",
                    where=str(corpus.path),
                    hint="the global task needs links alone, the local one contexts",
                )
            none = np.broadcast_to(np.int32(NO_ROW), (len(positions), min(depth, len(corpus))))
            parts[name] = CandidateSet(
                settings.task, positions, none, cited_rows(corpus, settings.task, positions)
            )
        # There is no history before a paper without a year; its own links are left out in any case.
        years = np.asarray(corpus.years)[parts["train"].papers(corpus)]
        groups = [("train", year, np.flatnonzero(years == year)) for year in np.unique(years).tolist()]
        groups.append(("dev", 0, np.arange(len(parts["dev"]))))
        blocks = [
            MiningBlock(name, year, queries[start : start + BLOCK])
            for name, year, queries in groups
            for start in range(0, len(queries), BLOCK)
        ]
        return cls(settings, by_year, parts, tuple(blocks))

    def year_of_history(self, block: MiningBlock) -> int:
        """The year before which a block's queries know the links; 0: they know all of the training period."""
        return block.year if self.by_year else 0

    def queries(self, block: MiningBlock) -> CandidateSet:
        """The queries of a block."""
        return self.parts[block.part].take(block.queries)


def _querying(periods: Periods, settings: CandidateSettings) -> NDArray[np.bool_]:
    """(N,) the papers whose queries are trained on."""
    corpus = periods.history.corpus
    years = np.asarray(corpus.years)
    querying: NDArray[np.bool_] = periods.history.citing & (corpus.cites.degrees > 0)
    if periods.years_separate and (years[querying] > 0).any():
        latest = int(years[querying].max())
        querying = querying & (years > latest - settings.years)
    return querying


def _mask(count: int, rows: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    mask = np.zeros(count, bool)
    mask[rows] = True
    return mask


class Miner:
    """Finds the candidates of blocks; it keeps the history of the last year, so ask for the blocks in their order.

    Args:
        plan: of the corpus.
        histories: gives the index as it was before a year; 0: with the training period as its history.
        encoder: that the plan's settings name, whose vectors the index holds; None where they name none.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> corpus, settings = starter_corpus(), CandidateSettings(task="global", queries=20, dev_queries=5)
        >>> periods = Periods.of(corpus, settings.period)
        >>> miner = Miner.over(Index.build(corpus, periods.history), MiningPlan.of(settings, periods))
        >>> miner.find(miner.plan.blocks[-1]).shape
        (5, 50)
    """

    def __init__(self, plan: MiningPlan, histories: Histories, encoder: Encoder | None = None) -> None:
        self.plan, self.histories, self.encoder = plan, histories, encoder
        self._year: int | None = None
        self._find: Callable[[CandidateSet], NDArray[np.int32]] | None = None

    @classmethod
    def over(cls, index: SearchIndex, plan: MiningPlan, encoder: Encoder | None = None) -> Miner:
        """The miner that makes each history when it comes to it, of an index with that of the training period."""
        return cls(plan, lambda year: index.rewind(year - 1) if year else index, encoder)

    def find(self, block: MiningBlock) -> NDArray[np.int32]:
        """(q, k) candidates of a block's queries, best first, padded with ``NO_ROW``."""
        if self._find is None or self._year != block.year:
            settings = self.plan.settings
            latest = block.year if settings.earlier_only else 0
            if self.encoder is not None:
                self._find = _nearest(self.encoder, self.histories(0), latest)
            else:
                history = self.histories(self.plan.year_of_history(block))
                self._find = _finder(settings, history, latest)
            self._year = block.year
        return self._find(self.plan.queries(block))


def _nearest(
    encoder: Encoder, index: SearchIndex, latest: int
) -> Callable[[CandidateSet], NDArray[np.int32]]:
    """The nearest papers of some queries: none later than the query's year, unless ``latest`` is 0."""
    retriever = vector_retriever(index, encoder)

    def near(part: CandidateSet) -> NDArray[np.int32]:
        queries = part.queries(index.corpus)
        if latest:
            queries = [query.older_candidates() for query in queries]
        return _padded(retriever.search(queries, part.rows.shape[1]).rows, part.rows.shape[1])

    return near


def _padded(rows: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    """(q, width) the rows of rankings that may be shallower, padded with ``NO_ROW``.

    Example:
        >>> _padded(np.array([[4, 2]], np.int32), 3).tolist() == [[4, 2, NO_ROW]]
        True
    """
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=NO_ROW)


def _finder(
    settings: CandidateSettings, index: SearchIndex, latest: int
) -> Callable[[CandidateSet], NDArray[np.int32]]:
    """The function that finds the candidates of some queries: none later than ``latest``, unless it is 0."""
    if settings.retriever == "first-stage":
        first = FirstStage(index)

        def blend(part: CandidateSet) -> NDArray[np.int32]:
            width = part.rows.shape[1]
            options = Options(top_k=width, depth=1, year_to=latest or None, evidence=False)
            return first.retrieve(part.queries(index.corpus), options, wide=width).ranking.rows

        return blend
    form = QueryForm.CONTEXT_TITLE if settings.task == "local" else QueryForm.TITLE_ABSTRACT
    retriever = bm25_retriever(index, form)

    def lexical(part: CandidateSet) -> NDArray[np.int32]:
        queries = part.queries(index.corpus)
        if latest:
            queries = [query.older_candidates() for query in queries]
        return _padded(retriever.search(queries, part.rows.shape[1]).rows, part.rows.shape[1])

    return lexical
