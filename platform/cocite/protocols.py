"""The types that all parts of the library share: query, ranking, retriever, encoder, reranker.

Papers are named by their *row* in the corpus store (int32); ids appear only at the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cocite.errors import IntegrityError

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus

NO_ROW = -1
"""The row of no paper: of a query from outside the corpus, and of a ranking's padding."""


@dataclass(frozen=True, slots=True)
class Query:
    """A manuscript, or a gap in one, that papers are to be recommended for.

    A *local* query has a ``context`` (text around a gap that reads ``TARGETCIT`` or ``[CIT]``); a *global* one has
    only a title and abstract. ``paper`` is the manuscript's row when it is in the corpus: it is never a candidate
    for itself and its own links and contexts never vote. ``candidates_until`` is the latest year of a candidate, None
    for any; a paper of unknown year stays a candidate, because it may be early enough. ``like`` and ``dislike`` are
    rows of seeds: papers like those are wanted, or not, and they are never candidates themselves.

    Example:
        >>> gap = Query("gap-1", context="Attention was proposed by [CIT].", title="A survey", year=2020)
        >>> gap.is_local, Query("whole", title="A survey").is_local
        (True, False)
        >>> gap.older_candidates().candidates_until
        2020
        >>> Query("seeds", like=(3, 8)).kind
        'seeds'
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
    like: tuple[int, ...] = ()
    dislike: tuple[int, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether the query is a gap in a text."""
        return bool(self.context)

    @property
    def has_seeds(self) -> bool:
        """Whether papers are liked or disliked."""
        return bool(self.like or self.dislike)

    @property
    def kind(self) -> Literal["local", "global", "seeds"]:
        """What the query asks with: a gap in a text, a title and abstract, or seeds without any text."""
        if self.is_local:
            return "local"
        return "seeds" if self.has_seeds and not (self.title.strip() or self.abstract.strip()) else "global"

    def older_candidates(self) -> Query:
        """The same query with candidates of its own year and earlier; of an undated query, the query itself."""
        return replace(self, candidates_until=self.year) if self.year else self


@dataclass(slots=True)
class Ranking:
    """Ranked candidates of a batch of queries, best first.

    Attributes:
        rows: (Q, k) int32 paper rows, padded with ``NO_ROW``.
        scores: (Q, k) float32, padded with ``-inf``.

    Example:
        >>> ranking = Ranking.best(np.array([[0.1, 0.9, 0.5, -np.inf]], np.float32), k=4)
        >>> ranking.rows.tolist()
        [[1, 2, 0, -1]]
        >>> reranked = ranking.top(2).rescored(np.array([[0.3, 0.7]], np.float32))
        >>> reranked.followed_by(ranking.after(2)).rows.tolist()
        [[2, 1, 0, -1]]
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

    def after(self, k: int) -> Ranking:
        """The columns behind the first ``k``."""
        return Ranking(self.rows[:, k:], self.scores[:, k:])

    def followed_by(self, tail: Ranking) -> Ranking:
        """These candidates, and behind them those of a tail in its own order.

        The tail's scores are shifted below the lowest score here (see :func:`shift_below`), so that the result is
        sorted by score as a run has to be.
        """
        scores = np.where(tail.rows == NO_ROW, -np.inf, tail.scores)
        return Ranking(
            np.concatenate([self.rows, tail.rows], axis=1),
            np.concatenate([self.scores, shift_below(scores, self.scores)], axis=1),
        )

    def rescored(self, scores: NDArray[np.float32]) -> Ranking:
        """The same candidates in the order of new scores, (Q, k); ties keep their present order.

        Raises:
            ValueError: a candidate's score is not a number. The scores of padding are ignored.
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
            # The lower row wins a tie at the cut, so everything at or above the k-th score is taken, then sorted.
            kth = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
            rows = np.full((len(scores), k), NO_ROW, np.int32)
            values = np.full((len(scores), k), -np.inf, np.float32)
            for i, row_scores in enumerate(scores):
                contenders = np.flatnonzero(row_scores >= kth[i])
                order = contenders[np.argsort(-row_scores[contenders], kind="stable")][:k]
                rows[i], values[i] = order, row_scores[order]
        else:
            rows = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int32)
            values = np.take_along_axis(scores, rows, 1).astype(np.float32)
        rows[np.isneginf(values)] = NO_ROW
        return Ranking(rows, values)


def shift_below(scores: NDArray[np.float32], head: NDArray[np.float32]) -> NDArray[np.float32]:
    """Shift each query's scores (Q, t) so that the greatest is 1 below the least of its head's (Q, h).

    Scores that are not finite mark padding: they stay, and those of the head do not count. A query with nothing but
    padding on either side keeps its scores.

    Example:
        >>> shift_below(np.array([[8.0, 7.5]], np.float32), np.array([[0.75, 0.25]], np.float32)).tolist()
        [[-0.75, -1.25]]
    """
    lowest = np.where(np.isfinite(head), head, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    highest = np.where(np.isfinite(scores), scores, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    both = np.isfinite(lowest) & np.isfinite(highest)
    lowest, highest = np.where(both, lowest, 0), np.where(both, highest, 0)
    return np.where(both, lowest - 1 + (scores - highest), scores).astype(np.float32)


def _refuse_nan(scores: NDArray[np.float32]) -> None:
    """Refuse NaN, which would sort last without an error and so hide a defect of the scorer."""
    broken = np.isnan(scores).any(axis=1)
    if broken.any():
        raise ValueError(f"a score of query {int(broken.argmax())} in the batch is not a number")


def require_finite(values: NDArray[np.floating[Any]], part: str, what: str) -> None:
    """Refuse vectors or scores that hold NaN or an infinity, which a ranking would sort without an error.

    Args:
        values: of any shape.
        part: the part of the model that computed them.
        what: what they are, in the plural.

    Raises:
        IntegrityError: one is not finite.

    Example:
        >>> require_finite(np.array([0.5, np.nan]), "nnrank", "scores")
        Traceback (most recent call last):
        cocite.errors.IntegrityError: nnrank: scores are not finite numbers ...
    """
    if not np.isfinite(values).all():
        raise IntegrityError(
            f"{what} are not finite numbers",
            where=part,
            hint="the weights may be damaged (cocite model verify MODEL), or the training went astray (train it again)",
        )


class PaperVectors(Protocol):
    """Vectors of all papers, of which some are read at a time.

    Example:
        >>> vectors: PaperVectors = np.eye(3, dtype=np.float32)
        >>> len(vectors), vectors[np.array([2])].tolist()
        (3, [[0.0, 0.0, 1.0]])
    """

    def __len__(self) -> int:
        """How many papers there are."""

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        """(k, d) the vectors of some rows."""


@runtime_checkable
class Retriever(Protocol):
    """Finds candidates among all papers: cheap for each paper, and so applied to every one.

    Example:
        >>> class Newest:
        ...     name = "newest"
        ...     def search(self, queries: Sequence[Query], k: int) -> Ranking:
        ...         return Ranking.best(np.tile(np.arange(5, dtype=np.float32), (len(queries), 1)), k)
        >>> isinstance(Newest(), Retriever), Newest().search([Query("q")], 2).rows.tolist()
        (True, [[4, 3]])
    """

    @property
    def name(self) -> str:
        """The name in tables and options."""
        ...

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query: never its own paper, an excluded one, or one too late for it."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Maps papers and queries into one space, where the inner product of unit vectors is their similarity.

    Example:
        >>> class Years:
        ...     name, id, dimension = "years", "1f2e", 2
        ...     def encode_papers(self, corpus, rows):
        ...         return np.ones((len(rows), 2), np.float32) / np.sqrt(2)
        ...     def encode_queries(self, queries):
        ...         return np.eye(len(queries), 2, dtype=np.float32)
        >>> isinstance(Years(), Encoder), isinstance(Years(), ManuscriptEncoder)
        (True, False)
    """

    @property
    def name(self) -> str:
        """The name of its vectors in an index, and of its similarity among the signals."""
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


class Embedding(NamedTuple):
    """Vectors of papers, and what computing them took.

    Example:
        >>> Embedding(np.ones((1, 2), np.float32), tokens=7, flops=2.0 * 7 * 2).flops
        28.0
    """

    vectors: NDArray[np.float32]
    """(n, d) unit vectors."""
    tokens: int = 0
    """Tokens that were read, without padding; 0: the encoder does not count them."""
    flops: float = 0.0
    """Floating-point operations of the layers, without padding; 0: the encoder does not count them."""


@runtime_checkable
class CountingEncoder(Encoder, Protocol):
    """An encoder that counts the tokens of papers, and the operations of their vectors.

    Example:
        >>> class Ones:
        ...     name, id, dimension = "ones", "1f2e", 1
        ...     def embed_papers(self, corpus, rows):
        ...         return Embedding(np.ones((len(rows), 1), np.float32), tokens=len(rows))
        ...     def encode_papers(self, corpus, rows):
        ...         return self.embed_papers(corpus, rows).vectors
        ...     def encode_queries(self, queries):
        ...         return np.ones((len(queries), 1), np.float32)
        >>> isinstance(Ones(), CountingEncoder)
        True
    """

    def embed_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> Embedding:
        """What ``encode_papers`` returns, with the counts."""
        ...


@runtime_checkable
class ManuscriptEncoder(Encoder, Protocol):
    """An encoder for which a local query has a second vector: the manuscript's beside the context's.

    It may say by an attribute ``reads_queries_as_papers`` that a global query has the vector that its manuscript has
    as a paper; then a paper of the index that asks is not encoded again.

    Example:
        >>> class Ones:
        ...     name, id, dimension = "ones", "1f2e", 1
        ...     def encode_papers(self, corpus, rows):
        ...         return np.ones((len(rows), 1), np.float32)
        ...     def encode_queries(self, queries):
        ...         return np.ones((len(queries), 1), np.float32)
        ...     encode_manuscripts = encode_queries
        >>> isinstance(Ones(), ManuscriptEncoder), isinstance(Ones(), BodyReader)
        (True, False)
    """

    def encode_manuscripts(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors of the queries' titles and abstracts, as papers are encoded."""
        ...


@runtime_checkable
class BodyReader(Encoder, Protocol):
    """An encoder that reads the text before the gap of a manuscript in a corpus.

    Example:
        >>> class Ones:
        ...     name, id, dimension = "ones", "1f2e", 1
        ...     def encode_papers(self, corpus, rows):
        ...         return np.ones((len(rows), 1), np.float32)
        ...     def encode_queries(self, queries):
        ...         return np.ones((len(queries), 1), np.float32)
        ...     def reading(self, corpus):
        ...         return self
        >>> isinstance(Ones(), BodyReader)
        True
    """

    def reading(self, corpus: Corpus) -> Encoder:
        """The same encoder for queries whose ``paper`` is a row of this corpus."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores the candidates of a retriever: costly for each paper, and so applied to few.

    Example:
        >>> class LowerRowsFirst:
        ...     name = "lower-rows-first"
        ...     def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        ...         return -candidates.rows.astype(np.float32)
        >>> candidates = Ranking(np.array([[7, 2, 5]], np.int32), np.zeros((1, 3), np.float32))
        >>> candidates.rescored(LowerRowsFirst().score([Query("q")], candidates)).rows.tolist()
        [[2, 5, 7]]
    """

    @property
    def name(self) -> str:
        """The name in tables and options."""
        ...

    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """Scores (Q, k) of the candidates; the value at padding is ignored."""
        ...
