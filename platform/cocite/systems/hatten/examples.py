"""HAtten's training examples: contexts of the training period's papers, with the papers that they are compared to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.systems.hatten.network import Documents, HattenModelSettings, pack
from cocite.text.paragraphs import ABSTRACT, CONTEXT, TITLE, Paragraphs

NO_CONTEXT = -1
"""The number of the context of a query that has none."""


class CorpusParagraphs:
    """All papers' titles and abstracts, and some contexts, as documents of numbered paragraphs.

    Args:
        paragraphs: 2N + C of them: i is the title of paper i, N + i its abstract, 2N + j the j-th of the contexts.
        papers: N.
        settings: of the model; they say how word positions are counted.

    Example:
        >>> paragraphs = Paragraphs(np.arange(7), np.array([5, 6, 7, 8, 9, 4], np.int32))  # one word each
        >>> texts = CorpusParagraphs(paragraphs, 3, HattenModelSettings())
        >>> texts.parts_of_papers(np.array([0, 2]))  # title, abstract, no context
        array([[ 0,  3, -1],
               [ 2,  5, -1]])
    """

    def __init__(self, paragraphs: Paragraphs, papers: int, settings: HattenModelSettings) -> None:
        self.paragraphs, self.papers, self.settings = paragraphs, papers, settings

    def parts_of_papers(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """(n, 3) the paragraphs of papers: title, abstract and -1, for a paper has no context."""
        parts = np.full((len(rows), 3), -1, np.int64)
        parts[:, TITLE] = rows
        parts[:, ABSTRACT] = self.papers + np.asarray(rows, np.int64)
        return parts

    def parts_of_queries(
        self, citing: NDArray[np.integer[Any]], contexts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """(n, 3) the paragraphs of queries.

        Args:
            citing: (n,) the citing papers.
            contexts: (n,) the number of each query's context among the contexts here, or ``NO_CONTEXT``.
        """
        parts = self.parts_of_papers(citing)
        parts[:, CONTEXT] = np.where(contexts == NO_CONTEXT, -1, 2 * self.papers + contexts)
        return parts

    def lengths(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,) number of words of each document, given its (n, 3) parts."""
        return np.asarray(self.paragraphs.lengths_at(parts).sum(1))

    def documents(self, queries: NDArray[np.int64], papers: NDArray[np.int64]) -> Documents:
        """Queries and then papers as documents, given the (q, 3) and (c, 3) parts of each."""
        is_query = np.arange(len(queries) + len(papers)) < len(queries)
        return pack(self.paragraphs, np.concatenate([queries, papers]), is_query, self.settings)

    def words(self, parts: NDArray[np.int64]) -> CSR:
        """The distinct words of each document, given its (n, 3) parts."""
        owners, tokens = [], []
        for kind in range(parts.shape[1]):
            present = np.flatnonzero(parts[:, kind] >= 0)
            paragraphs = self.paragraphs.take(parts[present, kind])
            owners.append(np.repeat(present, paragraphs.lengths))
            tokens.append(paragraphs.tokens)
        return CSR.build(np.concatenate(owners), np.concatenate(tokens), len(parts))


@dataclass(frozen=True)
class Sample:
    """The q queries of some examples, and the papers that were drawn for them.

    Attributes:
        contexts: (q,) numbers of training contexts; the citing papers are ``gaps.citing`` of them.
        read: (q,) whether a query is read with its context.
        owner: (q,) the example each query belongs to.
        pair: (p,) query of each citation, ascending; each query has one or more.
        cited: (p,) paper of each citation.
        mined: (q, m) papers, ``NO_ROW`` where there is none.
        relevant: (q, m) bool, which of the mined papers count as positives (section 4.3).
        random: (q, r) papers.
        papers: (c,) all of these, distinct, ascending.

    Example:
        >>> no_papers, no_flags = np.empty((2, 0), np.int32), np.empty((2, 0), bool)
        >>> sample = Sample(  # one example of two contexts; the second one cites two papers
        ...     np.array([4, 5]), np.array([True, True]), np.array([0, 0]), np.array([0, 1, 1]),
        ...     np.array([7, 7, 9], np.int32), no_papers, no_flags, no_papers, np.array([7, 9], np.int32))
        >>> sample.cited[sample.pair == 1]
        array([7, 9], dtype=int32)
    """

    contexts: NDArray[np.int64]
    read: NDArray[np.bool_]
    owner: NDArray[np.int64]
    pair: NDArray[np.int64]
    cited: NDArray[np.int32]
    mined: NDArray[np.int32]
    relevant: NDArray[np.bool_]
    random: NDArray[np.int32]
    papers: NDArray[np.int32]


@dataclass(frozen=True)
class Batch:
    """A piece of a step as the model reads it.

    Attributes:
        documents: the queries of the sample, then its papers.
        sample: what was drawn.
        attend: whether the network uses attention, or its bag of words alone.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.hatten.texts import prepare
        >>> from cocite.systems.hatten.task import build
        >>> from cocite.systems.hatten.recipe import HattenRecipe
        >>> recipe = HattenRecipe.parse({"words": {"source": "random"}, "period": {"train_until": 2010}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     _ = prepare(recipe.texts, corpus, Path(folder, "hatten-texts"))
        ...     batch = build(recipe, corpus, Path(folder)).collate(np.arange(3), epoch=0)
        >>> len(batch.documents.parts) == len(batch.sample.contexts) + len(batch.sample.papers)
        True
    """

    documents: Documents
    sample: Sample
    attend: bool = True
