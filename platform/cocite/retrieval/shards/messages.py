"""What is asked of a shard, and what it answers: values that a process can send to another.

Rows of papers and documents of contexts are those of the whole index, in requests and in replies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW
from cocite.retrieval.engines.document_words import DocumentWords
from cocite.retrieval.engines.inverted_lists import UNLIMITED, Best
from cocite.retrieval.engines.query_words import Omission, QueryWords
from cocite.retrieval.shards.paper_filter import PaperFilter


class TextField(NamedTuple):
    """One form of a query's text against one field of the papers.

    Example:
        >>> TextField(form=0, field="near anchors").of_papers
        False
    """

    form: int
    """Position of the form among those of :class:`TextQuery`."""
    field: str
    """``text`` or ``title`` of the papers; ``anchors`` or ``near anchors`` of what contexts say of them."""

    @property
    def of_papers(self) -> bool:
        """Whether the papers' own words are the field."""
        return self.field in ("text", "title")


class TextQuery(NamedTuple):
    """The words of one query's texts, a row for each form of its text.

    Example:
        >>> words = QueryWords(np.array([3, 8]), np.ones((1, 2), np.float32))
        >>> TextQuery(papers=words, contexts=words).papers.times.shape
        (1, 2)
    """

    papers: QueryWords
    """In the vocabulary of the papers."""
    contexts: QueryWords
    """In the vocabulary of the contexts."""


@dataclass(frozen=True)
class NearestRequest:
    """The first round: the papers and contexts nearest to Q queries.

    Attributes:
        words: of each query.
        neighbours: one text a query, in the papers' vocabulary, that neighbours resemble.
        sentence_form: the form of the query that contexts resemble.
        window_form: the form that windows resemble; None: windows are not searched.
        own_papers: (Q,) row of each query's own paper, or ``NO_ROW``; it is no neighbour.
        own_contexts: (Q, 2) first document of its contexts and the one behind the last; they are not near.
        papers, contexts: how many a shard gives.
        postings: about how many are read for one search.

    Example:
        >>> words = QueryWords(np.array([3]), np.ones((1, 1), np.float32))
        >>> own = np.array([-1]), np.zeros((1, 2), int)
        >>> request = NearestRequest([TextQuery(words, words)], [words], 0, None, *own, 500, 500, 50_000)
        >>> len(request)
        1
    """

    words: Sequence[TextQuery]
    neighbours: Sequence[QueryWords]
    sentence_form: int
    window_form: int | None
    own_papers: NDArray[np.int32]
    own_contexts: NDArray[np.int64]
    papers: int
    contexts: int
    postings: int

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class NearestReply:
    """A shard's part of the first round.

    Attributes:
        papers: for each query its nearest papers, best first; equal scores in order of the row.
        sentences: likewise its nearest contexts.
        windows: likewise; empty where windows were not searched.
        own: for each query whose own paper lies in the shard and has contexts, the query's words in its contexts and in
            its windows; else None.

    Example:
        >>> nothing = Best(np.zeros(0, np.int32), np.zeros(0, np.float32))
        >>> NearestReply([nothing], [nothing], [], [None]).own
        [None]
    """

    papers: Sequence[Best]
    sentences: Sequence[Best]
    windows: Sequence[Best]
    own: Sequence[tuple[DocumentWords, DocumentWords] | None]


@dataclass(frozen=True)
class ScoreRequest:
    """The second round: a shard's candidates of Q queries, and their scores.

    Attributes:
        words: of each query.
        vectors: (Q, d) the queries' vectors by signal.
        encoders: the name of the encoder that made the vectors of a signal.
        rows: of each query, papers that are candidates in any case, of all shards.
        nearest: of each query, papers that the first round gave, of all shards; they are candidates as well.
        searches: the fields that candidates are searched by.
        nearest_by: the form that resembles the nearest papers, for a search of allowed ones where few of them are.
        fields: those that candidates are scored by.
        own: of each query, the papers that its own contexts cite and what these add to their anchor texts, and the
            same for windows; None where it has none.
        filters: the papers that each query may retrieve.
        width: how many papers each search gives.
        postings: about how many are read for one search.

    Example:
        >>> words = QueryWords(np.array([3]), np.ones((1, 1), np.float32))
        >>> request = ScoreRequest([TextQuery(words, words)], {}, {}, [np.array([4])], [np.array([2])],
        ...     (TextField(0, "title"),), None, (TextField(0, "text"),), [None], [PaperFilter()], 500, 50_000)
        >>> len(request), request.candidates(0).tolist()
        (1, [2, 4])
    """

    words: Sequence[TextQuery]
    vectors: Mapping[str, NDArray[np.float32]]
    encoders: Mapping[str, str]
    rows: Sequence[NDArray[np.int32]]
    nearest: Sequence[NDArray[np.int32]]
    searches: Sequence[TextField]
    nearest_by: TextField | None
    fields: Sequence[TextField]
    own: Sequence[OwnContexts | None]
    filters: Sequence[PaperFilter]
    width: int
    postings: int

    def __len__(self) -> int:
        return len(self.words)

    def candidates(self, i: int) -> NDArray[np.int32]:
        """The papers that are candidates of a query in any case, ascending."""
        rows = np.unique(np.concatenate([self.rows[i], self.nearest[i]]))
        held: NDArray[np.int32] = rows[rows != NO_ROW].astype(np.int32)
        return held


@dataclass(frozen=True)
class SearchRequest:
    """The best papers by one field of text, or by the vectors of one encoder; for systems of one signal.

    Attributes:
        field: ``text`` or ``title``; or the name of an encoder.
        words: of each query, one text; None where vectors are searched.
        vectors: (Q, d) of the queries; None where words are searched.
        filters: the papers that each query may retrieve.
        width: how many papers a shard gives.
        postings: read for one search by words.

    Example:
        >>> words = QueryWords(np.array([3]), np.ones((1, 1), np.float32))
        >>> SearchRequest("title", [words], None, [PaperFilter()], 10).width
        10
    """

    field: str
    words: Sequence[QueryWords] | None
    vectors: NDArray[np.float32] | None
    filters: Sequence[PaperFilter]
    width: int
    postings: int = UNLIMITED


class OwnContexts(NamedTuple):
    """What the contexts of a query's own paper add to the anchor texts of the papers that they cite.

    Example:
        >>> nothing = Omission(np.zeros((1, 2), np.float32), np.zeros(1, np.float32))
        >>> OwnContexts(np.array([7], np.int32), {"anchors": nothing, "near anchors": nothing}).papers.tolist()
        [7]
    """

    papers: NDArray[np.int32]
    """Ascending rows."""
    words: Mapping[str, Omission]
    """By the field of anchor texts: how often these contexts hold the query's words, a row a paper."""


@dataclass(frozen=True)
class ScoreReply:
    """A shard's part of the second round.

    Attributes:
        rows: of each query, its candidates in the shard, ascending.
        texts: of each query, (T, n) their scores by each field of the request.
        similarities: of each query, (E, n) their similarities to its vectors, in the order of the request.

    Example:
        >>> nothing = np.zeros((0, 1), np.float32)
        >>> ScoreReply([np.array([4], np.int32)], [np.ones((1, 1), np.float32)], [nothing]).rows[0].tolist()
        [4]
    """

    rows: Sequence[NDArray[np.int32]]
    texts: Sequence[NDArray[np.float32]]
    similarities: Sequence[NDArray[np.float32]]
