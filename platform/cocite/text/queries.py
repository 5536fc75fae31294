"""Makes queries of a corpus: a manuscript of each paper, a gap of each context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.protocols import Query


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
