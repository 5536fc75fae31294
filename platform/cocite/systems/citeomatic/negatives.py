"""The negatives of Citeomatic: random papers, misleading neighbours, citations of citations (section 3, Appendix C).

All links come from a history, so no paper of a later split is ever taken for a citation or a non-citation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cocite.bounds import PositiveSmallCount, SmallCount, Total
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.errors import InputError
from cocite.protocols import NO_ROW
from cocite.sampling.neighbours import nearest
from cocite.systems.citeomatic.losses import CITED_BY_CITED, NEIGHBOUR, RANDOM
from cocite.text.fields import jaccard

ROUNDS = 8
"""How often a proposal that turns out to be forbidden is drawn again before another kind takes its place."""


class NegativeSettings(Settings):
    """How many negatives of which kind a query gets."""

    random: SmallCount = 2
    """Random negatives for each query's turn."""
    neighbour: SmallCount = 2
    """Nearest-neighbour negatives for each query's turn."""
    cited_by_cited: SmallCount = 2
    """Citation-of-citation negatives for each query's turn. The three sum to the paper's 6."""
    neighbours: PositiveSmallCount = 10
    """How many nearest neighbours are looked at."""
    percentile: float = Field(5.0, ge=0, le=100)
    """A neighbour is a negative when its text is less like the query's than this percentile of its citations."""
    min_citations: Total = 1
    """Papers that cite fewer are no queries."""
    max_citations: Total = 100
    """Papers that cite more are no queries."""
    no_later: bool = True
    """Whether negatives are papers no later than the query: a later one tells nothing of what is not cited."""

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
    """(T,) arrays: paper rows of query, cited and uncited paper, and the kind of the negative."""

    query: NDArray[np.int32]
    positive: NDArray[np.int32]
    negative: NDArray[np.int32]
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.query)

    def __getitem__(self, index: slice | NDArray[np.int64]) -> Triplets:
        return Triplets(self.query[index], self.positive[index], self.negative[index], self.kind[index])


class CiteomaticNegatives:
    """Draws triplets for the papers of a history.

    Args:
        history: what is known.
        words: bag of title and abstract of each paper, over ``types`` word types: what Jaccard compares.
        settings: how many of which kind.
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
        pool = np.flatnonzero(history.citing)
        self.pool = pool[np.argsort(years[pool], kind="stable")].astype(np.int32)  # ascending year
        self._eligible = np.full(
            len(years), len(self.pool), np.int64
        )  # how much of the pool a query may draw
        if settings.no_later:
            known = np.searchsorted(years[self.pool], years, side="right")
            self._eligible = np.where(years > 0, np.maximum(known, 1), len(self.pool))
        self._years = years
        owners, entries = self.cites.pairs()
        self._keys = owners.astype(np.int64) * len(years) + entries  # ascending: rows ascend, entries too
        self.neighbours = CSR(np.zeros(len(years) + 1, np.int64), np.zeros(0, np.int32))
        self._threshold: NDArray[np.float32] | None = None

    # -- what is forbidden -----------------------------------------------------------------------------------

    def allowed(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each paper may be a negative of each query: not itself, not cited by it, not later (if so set)."""
        keys = query.astype(np.int64) * len(self._years) + paper
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        free = (self._keys[at] != keys) & (query != paper) & (paper != NO_ROW)
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

    def refresh(self, vectors: NDArray[np.float32]) -> None:
        """Recompute the neighbour negatives from all papers' vectors (N, d), before an epoch (Appendix C, 3-5)."""
        if not self.settings.neighbour:
            return
        found = nearest(
            vectors[self.queries],
            vectors,
            self.settings.neighbours,
            exclude=self.queries,
            pool=np.sort(self.pool),
        )
        query = np.repeat(self.queries, found.depth)
        paper = found.rows.ravel()
        free = self.allowed(query, paper)
        query, paper = query[free], paper[free]
        unlike = jaccard(self.words, query, self.words, paper, self.types) < self.threshold[query]
        self.neighbours = CSR.build(query[unlike], paper[unlike], len(self._years))

    # -- drawing ---------------------------------------------------------------------------------------------

    def _one_of(self, rng: np.random.Generator, table: CSR, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """A uniformly drawn entry of each row; ``NO_ROW`` where the row is empty."""
        sizes = table.indptr[rows + 1] - table.indptr[rows]
        at = table.indptr[rows] + (rng.random(len(rows)) * sizes).astype(np.int64)
        if not len(table.indices):
            return np.full(len(rows), NO_ROW, np.int32)
        drawn = table.indices[np.minimum(at, len(table.indices) - 1)]
        return np.where(sizes > 0, drawn, NO_ROW).astype(np.int32)

    def _propose(self, rng: np.random.Generator, kind: int, query: NDArray[np.int32]) -> NDArray[np.int32]:
        if kind == RANDOM:
            return self.pool[(rng.random(len(query)) * self._eligible[query]).astype(np.int64)]
        if kind == NEIGHBOUR:
            return self._one_of(rng, self.neighbours, query)
        cited = self._one_of(rng, self.cites, query)
        return np.where(cited == NO_ROW, NO_ROW, self._one_of(rng, self.cites, np.maximum(cited, 0)))

    def draw(self, rng: np.random.Generator, kind: int, query: NDArray[np.int32]) -> NDArray[np.int32]:
        """A negative of one kind for each query; ``NO_ROW`` where none was found in a few rounds."""
        result = np.full(len(query), NO_ROW, np.int32)
        open_ = np.arange(len(query))
        for _ in range(ROUNDS):
            proposal = self._propose(rng, kind, query[open_])
            good = self.allowed(query[open_], proposal)
            result[open_[good]] = proposal[good]
            open_ = open_[~good]
            if not len(open_):
                break
        return result

    def epoch(self, rng: np.random.Generator, triplets: int) -> Triplets:
        """About ``triplets`` triplets, each query in turn giving ``per_query``.

        Where a query has no negative of a kind, a random one takes its place and is labelled so; a triplet for
        which not even that is found is left out.
        """
        turns = -(-triplets // max(self.settings.per_query, 1))
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
        positive = self._one_of(rng, self.cites, query)
        found = negative != NO_ROW
        return Triplets(query, positive, negative, kind)[np.flatnonzero(found)]


def grouped_percentile(
    values: NDArray[np.float32], sizes: NDArray[np.int32], percentile: float
) -> NDArray[np.float32]:
    """The percentile of each run of ``values``, interpolated as ``numpy.percentile`` does; no run may be empty.

    Args:
        values: runs of values one after the other.
        sizes: (G,) length of each run.
    """
    group = np.repeat(np.arange(len(sizes)), sizes)
    ordered = values[np.lexsort((values, group))]
    starts = np.cumsum(sizes) - sizes
    at = percentile / 100 * (sizes - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, sizes - 1)
    fraction = (at - low).astype(np.float32)
    return np.asarray(ordered[starts + low] * (1 - fraction) + ordered[starts + high] * fraction, np.float32)
