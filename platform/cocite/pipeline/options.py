"""What a caller may ask of a recommendation, and what is given back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.protocols import Evidence, Query, Ranking

QUERY_KINDS = ("local", "global")
CandidateScope = Literal["older", "all"]
"""Which papers may be candidates: ``older``: of a query with a year those of that year or earlier, and those of unknown
year; ``all``: later ones too."""


def by_kind(queries: Sequence[Query]) -> Iterator[tuple[str, list[int]]]:
    """The kinds of query that are among some, each with the positions of its queries."""
    for kind in QUERY_KINDS:
        places = [i for i, query in enumerate(queries) if query.is_local == (kind == "local")]
        if places:
            yield kind, places


@dataclass(frozen=True, slots=True)
class Options:
    """How many papers, from which, and whether to say why."""

    top_k: int = 20
    """Papers returned."""
    depth: int = 300
    """Candidates of the first stage that the second stage looks at: K."""
    rerank: int = 50
    """The best of those, which the cross-encoder reads, where there is one; 0: none."""
    cross_weight: float = 0.5
    """What the cross-encoder's score counts where no final fusion weighs it, from 0 to 1; 1: it decides alone."""
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
    """Whether to collect the reasons."""

    def __post_init__(self) -> None:
        for name, least in (("top_k", 1), ("depth", 1), ("rerank", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                raise InputError(f"{name} = {value!r} must be a whole number of at least {least}")
        if not 0 <= self.cross_weight <= 1:
            raise InputError(f"cross_weight = {self.cross_weight} must be from 0 to 1")
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
    """What the first stage hands to the second.

    Attributes:
        ranking: (Q, k) rows and first-stage scores, best first.
        signals: name -> (Q, k), aligned with the ranking.
        sentence_voters: (Q, v) documents of the index' contexts that voted, nearest first.
        neighbour_voters: (Q, n) rows of the neighbours that voted, nearest first.
    """

    ranking: Ranking
    signals: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    sentence_voters: Ranking | None = None
    neighbour_voters: Ranking | None = None

    @property
    def depth(self) -> int:
        """Number of candidates that have signals."""
        return next((values.shape[1] for values in self.signals.values()), 0)

    @property
    def top(self) -> Ranking:
        """The candidates that have signals."""
        return self.ranking.top(self.depth)


@dataclass(slots=True)
class Stages:
    """What each stage says of the candidates that have signals.

    Attributes:
        scores: stage -> (Q, depth), NaN where it did not look.
        last: (Q, depth) the score that orders them.
    """

    scores: dict[str, NDArray[np.float32]]
    last: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommended paper."""

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
    """Score of each stage that looked at the paper."""
    evidence: Evidence
