"""What every part is written against: a query, a ranking, a retriever, a reranker.

Papers are named by their *row* in the corpus store (int32); ids appear only at the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cocite.errors import IntegrityError

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus

NO_ROW = -1
"""Stands where there is no paper: in a query from outside the corpus, and as padding of a ranking."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a recommendation is asked for.

    A *local* query has a ``context`` (text around a gap that reads ``TARGETCIT`` or ``[CIT]``); a *global* one has
    only a title and abstract. ``paper`` is the manuscript's row when it is in the corpus: it is never a candidate
    for itself and its own links and contexts never vote. ``candidates_until`` is the latest year of a candidate, None
    for any; a paper of unknown year stays a candidate, for nobody knows that it is later.
    """

    id: str
    context: str = ""
    title: str = ""
    abstract: str = ""
    year: int | None = None
    authors: tuple[str, ...] = ()
    venue: str = ""
    keyphrases: tuple[str, ...] = ()
    paper: int = NO_ROW
    sentence: int = NO_ROW
    exclude: tuple[int, ...] = ()
    candidates_until: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether the query is a gap in a text."""
        return bool(self.context)

    def older_candidates(self) -> Query:
        """The same query with candidates of its own year and earlier; of an undated query, the query itself."""
        return replace(self, candidates_until=self.year) if self.year else self


@dataclass(slots=True)
class Ranking:
    """Ranked candidates of a batch of queries, best first.

    Attributes:
        rows: (Q, k) int32 paper rows, padded with ``NO_ROW``.
        scores: (Q, k) float32, padded with ``-inf``.
    """

    rows: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def depth(self) -> int:
        """Number of columns k."""
        return int(self.rows.shape[1])

    def top(self, k: int) -> Ranking:
        """The first ``k`` columns."""
        return Ranking(self.rows[:, :k], self.scores[:, :k])

    def rescored(self, scores: NDArray[np.float32]) -> Ranking:
        """The same candidates in the order of new scores, (Q, k); ties keep their present order.

        Raises:
            ValueError: a candidate's score is not a number. Padding's may be anything.
        """
        scores = np.where(self.rows == NO_ROW, -np.inf, scores).astype(np.float32)
        _refuse_nan(scores)
        order = np.argsort(-scores, axis=1, kind="stable")
        return Ranking(np.take_along_axis(self.rows, order, 1), np.take_along_axis(scores, order, 1))

    @staticmethod
    def best(scores: NDArray[np.float32], k: int) -> Ranking:
        """The ``k`` best columns of dense scores (Q, N), best first; ``-inf`` marks a forbidden paper.

        Ties are broken by the lower row, so a ranking is a function of its scores alone. With fewer than ``k``
        papers the ranking is that much shallower.

        Raises:
            ValueError: a score is not a number.
        """
        _refuse_nan(scores)
        count = scores.shape[1]
        k = min(k, count)
        if 0 < k < count:
            # A tie at the cut must be settled by row: take everything at or above the k-th score, then sort.
            kth = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
            rows = np.full((len(scores), k), NO_ROW, np.int32)
            values = np.full((len(scores), k), -np.inf, np.float32)
            for i, row_scores in enumerate(scores):
                chosen = np.flatnonzero(row_scores >= kth[i])
                order = chosen[np.argsort(-row_scores[chosen], kind="stable")][:k]
                rows[i], values[i] = order, row_scores[order]
        else:
            rows = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int32)
            values = np.take_along_axis(scores, rows, 1).astype(np.float32)
        rows[np.isneginf(values)] = NO_ROW
        return Ranking(rows, values)


def _refuse_nan(scores: NDArray[np.float32]) -> None:
    """NaN sorts last in silence: a defect of whoever scored must be heard instead."""
    broken = np.isnan(scores).any(axis=1)
    if broken.any():
        raise ValueError(f"a score of query {int(broken.argmax())} in the batch is not a number")


def require_finite(values: NDArray[np.floating[Any]], part: str, what: str) -> None:
    """Refuse vectors or scores that hold NaN or an infinity: in a ranking they would be lost without a word.

    Args:
        values: of any shape.
        part: the part of the model that made them.
        what: what they are, in the plural.

    Raises:
        IntegrityError: one is not finite.
    """
    if not np.isfinite(values).all():
        raise IntegrityError(
            f"{what} are not finite numbers",
            where=part,
            hint="the weights may be damaged (cocite model verify MODEL), or the training went astray (train it again)",
        )


@runtime_checkable
class Retriever(Protocol):
    """Cheap and wide: finds candidates among all papers."""

    @property
    def name(self) -> str:
        """What it is called in tables and options."""
        ...

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query: never its own paper, an excluded one, or one too late for it."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Puts papers and queries into one space, where the inner product of unit vectors says how near they are."""

    @property
    def name(self) -> str:
        """What its vectors are called in an index, and its similarity among the signals."""
        ...

    @property
    def id(self) -> str:
        """Fingerprint of the weights: vectors of another encoder are never compared with this one's."""
        ...

    @property
    def dimension(self) -> int:
        """d, the length of a vector."""
        ...

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors of some papers."""
        ...

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors of queries."""
        ...


@runtime_checkable
class ManuscriptEncoder(Encoder, Protocol):
    """An encoder for which a local query has a second vector: the manuscript's beside the context's."""

    def encode_manuscripts(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors of the queries' titles and abstracts, as papers are encoded."""
        ...


@runtime_checkable
class BodyReader(Encoder, Protocol):
    """An encoder that reads, of a manuscript in a corpus, what stands before the gap."""

    def reading(self, corpus: Corpus) -> Encoder:
        """The same encoder for queries whose ``paper`` is a row of this corpus."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Costly and narrow: scores the candidates a retriever found."""

    @property
    def name(self) -> str:
        """What it is called in tables and options."""
        ...

    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """Scores (Q, k) of the candidates; the value at padding is ignored."""
        ...


class SharedWord(NamedTuple):
    """A word that query and paper share."""

    word: str
    weight: float
    """How much the word says: higher is rarer and more telling."""


class CitingPaper(NamedTuple):
    """A paper of the corpus that cites the recommended one."""

    id: str
    title: str
    year: int | None
    """None: unknown."""


class CitingSentence(NamedTuple):
    """A sentence that cited the recommended paper, and the paper it stands in."""

    sentence: str
    id: str
    title: str
    year: int | None
    """None: unknown."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a paper is recommended, in terms an author can check. The endpoint's answers have the same fields."""

    shared_words: tuple[SharedWord, ...] = ()
    """Words that query and paper share, heaviest first."""
    cited_by: tuple[CitingPaper, ...] = ()
    """The query's neighbours that cite the paper, nearest first."""
    sentences: tuple[CitingSentence, ...] = ()
    """Historical contexts like the query's that cite the paper, nearest first."""
