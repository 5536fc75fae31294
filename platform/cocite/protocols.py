"""What every part is written against: a query, a ranking, a retriever, a reranker.

Papers are named by their *row* in the corpus store (int32); ids appear only at the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus

NO_ROW = -1
"""Stands where there is no paper: in a query from outside the corpus, and as padding of a ranking."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a recommendation is asked for.

    A *local* query has a ``context`` (text around a gap that reads ``TARGETCIT`` or ``[CIT]``); a *global* one has
    only a title and abstract. ``paper`` is the manuscript's row when it is in the corpus: it is never a candidate
    for itself and its own links and contexts never vote.
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

    @property
    def is_local(self) -> bool:
        """Whether the query is a gap in a text."""
        return bool(self.context)


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


@runtime_checkable
class Retriever(Protocol):
    """Cheap and wide: finds candidates among all papers."""

    @property
    def name(self) -> str:
        """What it is called in tables and options."""
        ...

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query, never the query's own paper nor an excluded one."""
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a paper is recommended, in terms an author can check."""

    shared_words: tuple[tuple[str, float], ...] = ()
    """Words that query and paper share, with their weight, heaviest first."""
    cited_by: tuple[int, ...] = ()
    """Rows of the query's neighbours that cite the paper."""
    sentences: tuple[tuple[int, str], ...] = field(default=())
    """(citing row, sentence) of historical contexts like the query's that cite the paper."""
