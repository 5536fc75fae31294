"""What HAtten is trained on: the contexts of the training period's papers, with what they cite and what they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.systems.hatten.network import Documents, HattenModelSettings, pack
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import ABSTRACT, CONTEXT, TITLE, Paragraphs

NONE = -1
"""Stands where a query has no context."""


class Texts:
    """All papers' titles and abstracts, and some contexts, as numbered paragraphs.

    Paragraph i is the title of paper i, paragraph N + i its abstract, 2N + j the j-th of the contexts.

    Args:
        corpus: the papers.
        positions: (C,) the contexts, by their position in the corpus.
        reader: numbers the words.
        settings: of the model, which say how places are counted.
    """

    def __init__(
        self,
        corpus: Corpus,
        positions: NDArray[np.int64],
        reader: ParagraphReader,
        settings: HattenModelSettings,
    ) -> None:
        self.settings, self.papers = settings, len(corpus)
        titles, abstracts = reader.papers(corpus)
        self.paragraphs = Paragraphs.joined([titles, abstracts, reader.contexts(corpus, positions)])

    def parts_of_papers(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """(n, 3) the paragraphs of papers."""
        parts = np.full((len(rows), 3), -1, np.int64)
        parts[:, TITLE] = rows
        parts[:, ABSTRACT] = self.papers + np.asarray(rows, np.int64)
        return parts

    def parts_of_queries(
        self, citing: NDArray[np.integer[Any]], contexts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """(n, 3) the paragraphs of queries: papers with one of the contexts each, or with ``NONE``."""
        parts = self.parts_of_papers(citing)
        parts[:, CONTEXT] = np.where(contexts == NONE, -1, 2 * self.papers + contexts)
        return parts

    def lengths(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,) words of documents."""
        lengths = np.append(self.paragraphs.lengths, 0)  # the last entry is what -1 finds
        return np.asarray(lengths[parts].sum(1))

    def documents(self, queries: NDArray[np.int64], papers: NDArray[np.int64]) -> Documents:
        """Queries and then papers, by their parts."""
        is_query = np.arange(len(queries) + len(papers)) < len(queries)
        return pack(self.paragraphs, np.concatenate([queries, papers]), is_query, self.settings)

    def words(self, parts: NDArray[np.int64]) -> CSR:
        """The distinct words of documents."""
        owners, tokens = [], []
        for kind in range(parts.shape[1]):
            there = np.flatnonzero(parts[:, kind] >= 0)
            some = self.paragraphs.take(parts[there, kind])
            owners.append(np.repeat(there, some.lengths))
            tokens.append(some.tokens)
        return CSR.build(np.concatenate(owners), np.concatenate(tokens), len(parts))
