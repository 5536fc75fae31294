"""The negatives of Citeomatic: random papers, misleading neighbours, citations of citations (section 3, Appendix C).

All links come from a history, so no paper of a later split is ever taken for a citation or a non-citation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cocite.bounds import PositiveSmallCount, SmallCount, Total
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.errors import InputError
from cocite.protocols import NO_ROW
from cocite.systems.citeomatic.losses import CITED_BY_CITED, NEIGHBOUR, RANDOM
from cocite.text.fields import TEXT, Bags, jaccard
from cocite.training.engine.world import World
from cocite.training.neighbour_search import NeighbourSearch, NeighbourSearchSettings, sampled

ROUNDS = 8
"""How often a proposal that turns out to be forbidden is drawn again before another kind takes its place."""


class NegativeSettings(Settings):
    """How many negatives of which kind a query gets.

    Example:
        >>> NegativeSettings(random=4, neighbour=0).per_query
        6
        >>> NegativeSettings.parse({"min_citations": 50, "max_citations": 10})
        Traceback (most recent call last):
        cocite.errors.ConfigError: min_citations is 50, above max_citations, 10
    """

    random: SmallCount = 2
    """Random negatives for each query's turn."""
    neighbour: SmallCount = 2
    """Nearest-neighbour negatives for each query's turn."""
    cited_by_cited: SmallCount = 2
    """Citation-of-citation negatives for each query's turn. The three sum to the paper's 6."""
    neighbours: PositiveSmallCount = 10
    """How many nearest neighbours are looked at."""
    search: NeighbourSearchSettings = NeighbourSearchSettings()
    """When they are searched exhaustively."""
    percentile: float = Field(5.0, ge=0, le=100)
    """A neighbour is a negative when its text is less like the query's than this percentile of its citations."""
    min_citations: Total = 1
    """Papers that cite fewer are no queries."""
    max_citations: Total = 100
    """Papers that cite more are no queries."""
    pool: Literal["known", "all"] = "known"
    """What random and neighbour negatives are taken from: the papers whose links are ``known``, or ``all``, as in the
    paper."""
    no_later: bool = True
    """Whether negatives are papers no later than the query: that a later one is not cited says nothing."""

    @model_validator(mode="after")
    def _possible(self) -> NegativeSettings:
        if not self.per_query:
            raise ValueError("random, neighbour and cited_by_cited are all 0: there would be no negatives")
        if self.min_citations > self.max_citations:
            raise ValueError(
                f"min_citations is {self.min_citations}, above max_citations, {self.max_citations}"
            )
        return self

    @property
    def per_query(self) -> int:
        """Triplets a query gives each time it is drawn."""
        return self.random + self.neighbour + self.cited_by_cited


@dataclass(frozen=True)
class Triplets:
    """Triplets of a query, a paper that it cites, and one that it does not cite.

    Attributes:
        query, positive, negative: (T,) rows of the papers.
        kind: (T,) kind of each negative, an index into :data:`~cocite.systems.citeomatic.losses.MARGINS`.

    Example:
        >>> rows = np.array([3, 4, 5], np.int32)
        >>> triplets = Triplets(rows, rows + 10, rows + 20, np.array([RANDOM, NEIGHBOUR, RANDOM], np.int8))
        >>> triplets[np.flatnonzero(triplets.kind == RANDOM)].negative.tolist()
        [23, 25]
    """

    query: NDArray[np.int32]
    positive: NDArray[np.int32]
    negative: NDArray[np.int32]
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.query)

    def __getitem__(self, index: slice | NDArray[np.int64]) -> Triplets:
        return Triplets(self.query[index], self.positive[index], self.negative[index], self.kind[index])


def title_and_abstract(bags: Bags) -> CSR:
    """The words of title and abstract together, each once: what the Jaccard similarity compares.

    Example:
        >>> bags = {"title": CSR.build([0, 1], [4, 2], 2), "abstract": CSR.build([0, 0], [4, 7], 2)}
        >>> title_and_abstract(bags)[0].tolist()
        [4, 7]
    """
    parts = [bags[field].pairs() for field in TEXT]
    owners, entries = (np.concatenate(column) for column in zip(*parts, strict=True))
    return CSR.build(owners, entries, len(bags["title"]))


class CiteomaticNegatives:
    """Draws papers that a query does not cite, for the papers of a history.

    Args:
        history: what is known.
        words: bag of title and abstract of each paper, over ``types`` word types: what Jaccard compares.
        types: size of the vocabulary.
        settings: how many of which kind.

    Attributes:
        queries: rows of the papers that are trained on.
        cites: the known links.
        pool: rows of the papers that random and neighbour negatives are taken from, by ascending year.
        neighbours: for each query, its near neighbours that may be negatives; empty before :meth:`refresh`.
        metrics: what a training logs of the last search.

    Raises:
        InputError: no paper of the history cites enough others.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.fields import FieldEncoder, FieldSettings
        >>> history = History.all(starter_corpus())
        >>> fields = FieldEncoder.build(history, FieldSettings())
        >>> words = title_and_abstract(fields.papers(history.corpus))
        >>> negatives = CiteomaticNegatives(history, words, len(fields.vocabularies["words"]), NegativeSettings())
        >>> drawn = negatives.triplets(np.random.default_rng(0), 60)
        >>> len(drawn), bool(history.cites.contains(drawn.query, drawn.negative).any())
        (60, False)
    """

    def __init__(self, history: History, words: CSR, types: int, settings: NegativeSettings) -> None:
        self.history, self.words, self.types, self.settings = history, words, types, settings
        self.cites = history.cites
        degrees = self.cites.degrees
        usable = (degrees >= max(settings.min_citations, 1)) & (degrees <= settings.max_citations)
        self.queries = np.flatnonzero(usable).astype(np.int32)
        if not len(self.queries):
            raise InputError("the history holds no paper with enough citations to train on")
        years = np.asarray(history.corpus.years)
        pool = np.flatnonzero(history.citing) if settings.pool == "known" else np.arange(len(years))
        self.pool = pool[np.argsort(years[pool], kind="stable")].astype(np.int32)  # ascending year
        self._eligible = np.full(
            len(years), len(self.pool), np.int64
        )  # how much of the pool a query may draw
        if settings.no_later:
            known = np.searchsorted(years[self.pool], years, side="right")
            # At least one paper, so that there is something to draw; ``allowed`` refuses it where it is later.
            self._eligible = np.where(years > 0, np.maximum(known, 1), len(self.pool))
        self._years = years
        owners, entries = self.cites.pairs()
        self._keys = owners.astype(np.int64) * len(years) + entries  # ascending: rows ascend, entries too
        self.neighbours = CSR(np.zeros(len(years) + 1, np.int64), np.zeros(0, np.int32))
        self.metrics: Mapping[str, float] = {}
        self._threshold: NDArray[np.float32] | None = None

    # -- what is forbidden -----------------------------------------------------------------------------------

    def allowed(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each paper may be a negative of each query: not itself, not cited by it, not later (if so set).

        Args:
            query, paper: (P,) rows; a paper may be ``NO_ROW``, which is no negative.
        """
        keys = query.astype(np.int64) * len(self._years) + paper
        # A key above the last one would be found behind the end.
        position = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        free = (self._keys[position] != keys) & (query != paper) & (paper != NO_ROW)
        if self.settings.no_later:
            free &= (self._years[paper] <= self._years[query]) | (self._years[query] <= 0)
        return np.asarray(free)

    # -- nearest neighbours ----------------------------------------------------------------------------------

    @property
    def threshold(self) -> NDArray[np.float32]:
        """(N,) for each query, the percentile of the Jaccard similarity to its citations (Appendix C, 1-2)."""
        if self._threshold is None:
            self._threshold = np.zeros(len(self._years), np.float32)
            owner, cited = self.cites.gather(self.queries)
            values = jaccard(self.words, self.queries[owner], self.words, cited, self.types)
            self._threshold[self.queries] = grouped_percentile(
                values, self.cites.degrees[self.queries], self.settings.percentile
            )
        return self._threshold

    def refresh(self, vectors: NDArray[np.float32], world: World | None = None) -> None:
        """Recompute the neighbour negatives from all papers' vectors (Appendix C, 3-5).

        Args:
            vectors: (N, d).
            world: the processes that train together: each searches for a part of the queries.
        """
        if not self.settings.neighbour:
            return
        world = world or World()
        part = self.queries[world.share(len(self.queries))]
        own, k, settings = vectors[part], self.settings.neighbours, self.settings.search
        some = sampled(len(self.queries), world)
        search = NeighbourSearch.over(
            *(vectors, own[some], k),
            total=len(self.queries),
            settings=settings,
            world=world,
            pool=np.sort(self.pool),
            exclude=part[some],
        )
        rows = search.nearest(own, k, exclude=part).rows
        self.metrics = search.metrics
        # Each rank finds the negatives among its own queries' neighbours: that takes longer than to search them.
        query, paper = np.repeat(part, rows.shape[1]), rows.ravel()
        free = np.flatnonzero(self.allowed(query, paper))
        similar = jaccard(self.words, query[free], self.words, paper[free], self.types)
        kept = np.full(len(paper), NO_ROW, np.int32)
        unlike = free[similar < self.threshold[query[free]]]
        kept[unlike] = paper[unlike]
        found = torch.from_numpy(kept.reshape(rows.shape)).to(world.device)
        rows = world.concatenate(found).cpu().numpy()
        present = rows != NO_ROW
        owner = np.broadcast_to(self.queries[:, None], rows.shape)[present]
        self.neighbours = CSR.build(owner, rows[present], len(self._years))

    # -- drawing ---------------------------------------------------------------------------------------------

    def _draw_entries(
        self, rng: np.random.Generator, table: CSR, rows: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """An entry of each row, each with the same probability; ``NO_ROW`` where the row is empty."""
        sizes = table.indptr[rows + 1] - table.indptr[rows]
        position = table.indptr[rows] + (rng.random(len(rows)) * sizes).astype(np.int64)
        if not len(table.indices):
            return np.full(len(rows), NO_ROW, np.int32)
        # An empty row at the end begins behind the last entry.
        drawn = table.indices[np.minimum(position, len(table.indices) - 1)]
        return np.where(sizes > 0, drawn, NO_ROW).astype(np.int32)

    def _propose(self, rng: np.random.Generator, kind: int, query: NDArray[np.int32]) -> NDArray[np.int32]:
        """A paper of a kind for each query, which may turn out to be no negative; ``NO_ROW`` where there is none."""
        if kind == RANDOM:
            return self.pool[(rng.random(len(query)) * self._eligible[query]).astype(np.int64)]
        if kind == NEIGHBOUR:
            return self._draw_entries(rng, self.neighbours, query)
        cited = self._draw_entries(rng, self.cites, query)
        return np.where(cited == NO_ROW, NO_ROW, self._draw_entries(rng, self.cites, np.maximum(cited, 0)))

    def draw(self, rng: np.random.Generator, kind: int, query: NDArray[np.int32]) -> NDArray[np.int32]:
        """A negative of one kind for each query.

        Args:
            rng: draws.
            kind: ``RANDOM``, ``NEIGHBOUR`` or ``CITED_BY_CITED``.
            query: (Q,) rows; a row may occur many times.

        Returns:
            (Q,) rows; ``NO_ROW`` where a few rounds found none.
        """
        result = np.full(len(query), NO_ROW, np.int32)
        missing = np.arange(len(query))
        for _ in range(ROUNDS):
            proposal = self._propose(rng, kind, query[missing])
            good = self.allowed(query[missing], proposal)
            result[missing[good]] = proposal[good]
            missing = missing[~good]
            if not len(missing):
                break
        return result

    def triplets(self, rng: np.random.Generator, count: int) -> Triplets:
        """About ``count`` triplets: each query in turn gives ``per_query``.

        Where a query has no negative of a kind, a random one takes its place and is labelled so; a triplet for
        which not even that is found is left out.
        """
        turns = -(-count // max(self.settings.per_query, 1))
        passes = -(-turns // len(self.queries))
        query = np.concatenate([rng.permutation(self.queries) for _ in range(passes)])[:turns]
        counts = (self.settings.random, self.settings.neighbour, self.settings.cited_by_cited)
        kinds = np.repeat([RANDOM, NEIGHBOUR, CITED_BY_CITED], counts).astype(np.int8)
        query = np.repeat(query, len(kinds))
        kind = np.tile(kinds, turns)
        negative = np.empty(len(query), np.int32)
        for k in (RANDOM, NEIGHBOUR, CITED_BY_CITED):
            negative[kind == k] = self.draw(rng, k, query[kind == k])
        lacking = (negative == NO_ROW) & (kind != RANDOM)
        negative[lacking] = self.draw(rng, RANDOM, query[lacking])
        kind[lacking] = RANDOM
        positive = self._draw_entries(rng, self.cites, query)
        return Triplets(query, positive, negative, kind)[np.flatnonzero(negative != NO_ROW)]


def grouped_percentile(
    values: NDArray[np.float32], sizes: NDArray[np.int32], percentile: float
) -> NDArray[np.float32]:
    """(G,) percentile of each group of values, interpolated as ``numpy.percentile`` does; no group may be empty.

    Args:
        values: the groups' values, group after group.
        sizes: (G,) size of each group.
        percentile: 0 ... 100.

    Example:
        >>> grouped_percentile(np.array([1, 3, 8], np.float32), np.array([2, 1]), 50.0).tolist()
        [2.0, 8.0]
    """
    group = np.repeat(np.arange(len(sizes)), sizes)
    # All groups in one sort: numpy.percentile would be called for each paper.
    ordered = values[np.lexsort((values, group))]
    starts = np.cumsum(sizes) - sizes
    position = percentile / 100 * (sizes - 1)
    low = np.floor(position).astype(np.int64)
    high = np.minimum(low + 1, sizes - 1)
    fraction = (position - low).astype(np.float32)
    return np.asarray(ordered[starts + low] * (1 - fraction) + ordered[starts + high] * fraction, np.float32)
