"""The options of a recommendation, and what the stages pass to one another and return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.pipeline.evidence import Evidence
from cocite.protocols import Query, Ranking

QUERY_KINDS = ("local", "global")
"""Kinds of queries with a text, which learned stages read; a query of the kind ``seeds`` has none."""
MAX_WEIGHT = 1_000.0
"""Greatest weight of a signal."""
CandidateScope = Literal["older", "all"]
"""Which papers may be candidates: ``older``: of a query with a year those of that year or earlier, and those of unknown
year; ``all``: later ones too."""


def by_kind(queries: Sequence[Query]) -> Iterator[tuple[str, list[int]]]:
    """The kinds of the queries, each with the positions of its queries.

    Example:
        >>> list(by_kind([Query("a", title="A survey"), Query("b", context="as in [CIT]")]))
        [('local', [1]), ('global', [0])]
    """
    for kind in (*QUERY_KINDS, "seeds"):
        positions = [i for i, query in enumerate(queries) if query.kind == kind]
        if positions:
            yield kind, positions


@dataclass(frozen=True, slots=True)
class Options:
    """How many papers to recommend, of which, and whether with reasons.

    Example:
        >>> Options(top_k=5, year_from=2010).depth
        300
        >>> Options(year_from=2015, year_to=2010)
        Traceback (most recent call last):
        cocite.errors.InputError: year_from 2015 is later than year_to 2010
    """

    top_k: int = 20
    """Papers returned."""
    depth: int = 300
    """Candidates of the first stage that the second stage orders: K."""
    rerank: int = 50
    """How many of the best of those the cross-encoder reads, where there is one; 0: none."""
    cross_weight: float = 0.5
    """Weight of the cross-encoder's score, from 0 to 1, where no final fusion reads it; 1: it orders alone."""
    year_from: int | None = None
    """Earliest year of a recommended paper."""
    year_to: int | None = None
    """Latest year of a recommended paper, in place of the limit that ``candidates`` sets; papers without a year are
    left out when ``year_from`` or ``year_to`` is given."""
    candidates: CandidateScope | None = None
    """``older`` or ``all``; None: ``older`` where papers are recommended, ``all`` where a run is ranked."""
    exclude: tuple[int, ...] = ()
    """Rows never to recommend."""
    exclude_authors: tuple[str, ...] = ()
    """Authors whose papers are never recommended, as the corpus writes them, in any case."""
    evidence: bool = True
    """Whether to collect the reasons for each paper."""
    offset: int = 0
    """Best papers to leave out: those of earlier pages. Pages of one query together are its long list."""
    only: tuple[int, ...] | None = None
    """Rows that alone may be recommended; None: any."""
    retrievers: tuple[str, ...] = ()
    """Signals that alone find candidates, by the blend's names for them, with the blend's weights, or 1 where it has
    none; none given: those of the blend."""
    weights: tuple[tuple[str, float], ...] = ()
    """Signal and weight, in place of the blend's; 0 leaves the signal out. A learned fusion reads the new candidates,
    and orders them by what it has learned with the blend's own weights."""
    popularity: float = 0.0
    """Share, from 0 to 1, by which scores are damped where papers are much cited: see :mod:`.reordering`."""
    diversity: float = 0.0
    """From 0 to 1, how much a paper's likeness to those before it counts against it: see :mod:`.reordering`."""

    def __post_init__(self) -> None:
        for name, minimum in (("top_k", 1), ("depth", 1), ("rerank", 0), ("offset", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < minimum:
                raise InputError(f"{name} = {value!r} must be a whole number of at least {minimum}")
        for name in ("cross_weight", "popularity", "diversity"):
            if not 0 <= (share := getattr(self, name)) <= 1:
                raise InputError(f"{name} = {share} must be from 0 to 1")
        for signal, weight in self.weights:
            if not 0 <= weight <= MAX_WEIGHT:
                raise InputError(f"the weight of {signal!r}, {weight}, must be from 0 to {MAX_WEIGHT}")
        if self.year_from and self.year_to and self.year_from > self.year_to:
            raise InputError(f"year_from {self.year_from} is later than year_to {self.year_to}")

    def restricted(self, queries: Sequence[Query]) -> Sequence[Query]:
        """The queries, each limited to the candidates of its year and earlier if ``candidates`` is ``older``.

        Raises:
            InputError: ``year_from`` is later than a query's year, so that no paper would be left.
        """
        if self.candidates != "older" or self.year_to is not None:
            return queries
        for query in queries:
            if query.year and self.year_from and self.year_from > query.year:
                raise InputError(
                    f"year_from {self.year_from} is later than the query's year, {query.year}",
                    hint="give year_to, or candidates='all'",
                )
        return [query.older_candidates() for query in queries]


@dataclass(slots=True)
class Candidates:
    """The result of the first stage, which the second stage orders.

    Attributes:
        ranking: (Q, k) rows and first-stage scores, best first.
        signals: name -> (Q, k), aligned with the ranking.
        sentence_voters: (Q, v) documents of the index' contexts that voted, nearest first.
        neighbour_voters: (Q, n) rows of the neighbours that voted, nearest first.
        missing_shards: numbers, from 0, of the index' shards that did not answer; their papers are not among these.
        unlike: (Q,) whether each query's text is unlike the papers of the index; empty: of no query.

    Example:
        >>> ranking = Ranking(np.array([[4, 2, 9]], np.int32), np.array([[0.9, 0.5, 0.1]], np.float32))
        >>> candidates = Candidates(ranking, {"whole>text": np.array([[7.1, 6.4]], np.float32)})
        >>> candidates.top.rows.tolist()  # the third has no signals
        [[4, 2]]
    """

    ranking: Ranking
    signals: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    sentence_voters: Ranking | None = None
    neighbour_voters: Ranking | None = None
    missing_shards: tuple[int, ...] = ()
    unlike: tuple[bool, ...] = ()

    @property
    def depth(self) -> int:
        """Number of candidates that have signals."""
        return next((values.shape[1] for values in self.signals.values()), 0)

    @property
    def top(self) -> Ranking:
        """The candidates that have signals."""
        return self.ranking.top(self.depth)

    def of(self, positions: Sequence[int]) -> Candidates:
        """The candidates of some of the queries."""

        def part(ranking: Ranking) -> Ranking:
            return Ranking(ranking.rows[positions], ranking.scores[positions])

        return Candidates(
            part(self.ranking),
            {name: values[positions] for name, values in self.signals.items()},
            None if self.sentence_voters is None else part(self.sentence_voters),
            None if self.neighbour_voters is None else part(self.neighbour_voters),
            self.missing_shards,
            tuple(self.unlike[i] for i in positions) if self.unlike else (),
        )


@dataclass(slots=True)
class Stages:
    """The scores of each stage for the candidates that have signals.

    Attributes:
        scores: stage -> (Q, depth), NaN where the stage did not score the candidate.
        last: (Q, depth) the score that orders them.
        orders: kind of query -> the stage whose score that is.
        confidence: (Q, depth) the probability that the query cites the candidate, NaN where it is not known; None:
            of no candidate.

    Example:
        >>> fusion = np.array([[0.2, 0.8]], np.float32)
        >>> Stages({"fusion": fusion}, last=fusion).last.argmax(axis=1).tolist()
        [1]
    """

    scores: dict[str, NDArray[np.float32]]
    last: NDArray[np.float32]
    orders: dict[str, str] = field(default_factory=dict)
    confidence: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommended paper.

    Example:
        >>> from dataclasses import fields
        >>> [field.name for field in fields(Recommendation)][-3:]
        ['stages', 'evidence', 'confidence']
    """

    row: int
    id: str
    title: str
    authors: tuple[str, ...]
    year: int
    venue: str
    abstract: str
    doi: str
    score: float
    stages: dict[str, float]
    """Stage -> score, of the stages that scored the paper."""
    evidence: Evidence
    confidence: float | None = None
    """Probability that the query should cite it; None: not calibrated, see :mod:`cocite.pipeline.confidence`."""
