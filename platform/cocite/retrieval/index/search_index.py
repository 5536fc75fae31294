"""What the pipeline asks of an index, whether it is searched whole or by its shards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import Encoder, PaperVectors, Query
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.query_words import QueryWords
from cocite.retrieval.index.name_tables import NameTables
from cocite.retrieval.shards.group import ShardGroup


class SearchIndex(Protocol):
    """An index: the papers, what is known of them, and their words and vectors, divided into shards.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> index: SearchIndex = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> index.paper_words(["citation parsing"]).times
        array([[1., 1.]], dtype=float32)
    """

    @property
    def corpus(self) -> Corpus:
        """The papers."""

    @property
    def history(self) -> History:
        """Whose links and contexts are known."""

    @property
    def alive(self) -> NDArray[np.bool_]:
        """(N,) False for removed papers."""

    @property
    def version(self) -> str:
        """Name of the snapshot; empty in memory."""

    @property
    def encoder_ids(self) -> Mapping[str, str]:
        """The id of each encoder that made vectors, by its name."""

    @property
    def bm25(self) -> Bm25Fields:
        """k1 and b of the papers' fields."""

    @property
    def shards(self) -> ShardGroup:
        """The words and vectors of all papers."""

    @property
    def cited_by_context(self) -> CSR:
        """For each known context, the papers that it cites."""

    @property
    def context_papers(self) -> NDArray[np.int32]:
        """For each known context, the citing row; ascending."""

    @property
    def name_tables(self) -> NameTables:
        """The papers of each author, surname and venue."""

    def __len__(self) -> int:
        """How many papers there are."""

    def forbid(self, scores: NDArray[np.float32], queries: Sequence[Query]) -> NDArray[np.float32]:
        """Set to ``-inf``, in place, the scores (Q, N) of papers that a query may not retrieve."""

    def rewind(self, year: int) -> Self:
        """The index as it would be if nothing later than a year had been cited."""

    def with_history(self, history: History) -> Self:
        """The same papers under a history that is a part of the present one."""

    def paper_words(self, texts: Sequence[str]) -> QueryWords:
        """The words of some texts in the vocabulary of the papers' fields."""

    def context_words(self, texts: Sequence[str]) -> QueryWords:
        """The words of some texts in the vocabulary of the contexts."""

    def are_unlike(self, queries: Sequence[Query]) -> NDArray[np.bool_]:
        """(Q,) whether each query's text is unlike the papers; of none where no limits are known."""

    def shared_terms(
        self, text: str, rows: Sequence[int], limit: int, ignore: Collection[str]
    ) -> list[list[tuple[str, float]]]:
        """For each paper, the words that it shares with a text and their weights, heaviest first."""

    def paper_vectors(self, name: str) -> PaperVectors:
        """The vectors of an encoder's name."""

    def check_encoder(self, encoder: Encoder) -> object:
        """Refuse an encoder that did not make the vectors of its name."""
