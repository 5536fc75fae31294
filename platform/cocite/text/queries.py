"""Makes queries of a corpus: a manuscript of each paper, a gap of each context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cocite.corpus.store import Corpus
from cocite.protocols import Query

BLOCK = 1024
"""Queries made at a time when all are read."""


def manuscript_queries(corpus: Corpus, rows: NDArray[np.integer[Any]]) -> list[Query]:
    """A global query for each of some papers, named by its id.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> [query] = manuscript_queries(starter_corpus(), np.array([0]))
        >>> query.title, query.is_local
        ('On Relevance, Probabilistic Indexing and Information Retrieval', False)
    """
    columns = (corpus.papers.take(name, rows) for name in ("id", "title", "abstract", "year"))
    lists = (corpus.papers.take(name, rows) for name in ("authors", "venue", "keyphrases"))
    return [
        Query(
            id=id_,
            title=title,
            abstract=abstract,
            year=year or None,
            authors=tuple(authors),
            venue=venue,
            keyphrases=tuple(keyphrases),
            paper=row,
        )
        for row, id_, title, abstract, year, authors, venue, keyphrases in zip(
            rows.tolist(), *columns, *lists, strict=True
        )
    ]


def context_queries(corpus: Corpus, positions: NDArray[np.integer[Any]]) -> list[Query]:
    """A local query for each of some contexts, named by its id, with the citing paper's title and abstract.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build(Synthetic(60, seed=1), folder + "/corpus")
        ...     [query] = context_queries(corpus, np.array([0]))
        >>> query.is_local, "TARGETCIT" in query.context
        (True, True)
    """
    papers, which = np.unique(corpus.context_citing[positions], return_inverse=True)
    manuscripts = manuscript_queries(corpus, papers)
    contexts = corpus.contexts
    ids, texts = contexts.take("id", positions), contexts.take("text", positions)
    sentences = contexts.column("sentence")[positions].tolist()
    return [
        replace(manuscripts[paper], id=id_, context=text, sentence=sentence)
        for paper, id_, text, sentence in zip(which.tolist(), ids, texts, sentences, strict=True)
    ]


class CorpusQueries(Sequence[Query]):
    """Queries of a corpus that are made when they are asked for: millions of them take 8 bytes each.

    Args:
        make: :func:`context_queries` or :func:`manuscript_queries`.
        corpus: the store.
        positions: (Q,) of the contexts, or rows of the papers.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> queries = CorpusQueries(manuscript_queries, starter_corpus(), np.arange(300))
        >>> len(queries), queries[7].paper, [query.paper for query in queries[2:4]], queries.take([9, 8])[0].paper
        (300, 7, [2, 3], 9)
    """

    def __init__(
        self,
        make: Callable[[Corpus, NDArray[np.integer[Any]]], list[Query]],
        corpus: Corpus,
        positions: NDArray[np.integer[Any]],
    ) -> None:
        self._make, self._corpus, self._positions = make, corpus, positions

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> Query: ...
    @overload
    def __getitem__(self, index: slice) -> list[Query]: ...
    def __getitem__(self, index: int | slice) -> Query | list[Query]:
        """A query, or a list of some, made anew."""
        if isinstance(index, slice):
            return self._make(self._corpus, self._positions[index])
        return self._make(self._corpus, self._positions[[index]])[0]

    def __iter__(self) -> Iterator[Query]:
        for start in range(0, len(self), BLOCK):
            yield from self[start : start + BLOCK]

    def take(self, numbers: ArrayLike) -> CorpusQueries:
        """Some of the queries, in the order given."""
        return CorpusQueries(self._make, self._corpus, self._positions[np.asarray(numbers, np.int64)])
