"""What HAtten is trained on: the contexts of the training period's papers, with what they cite and what they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.models.hatten_network import Documents, HattenModelSettings, pack
from cocite.text.paragraphs import ABSTRACT, CONTEXT, TITLE, ParagraphReader, Paragraphs

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


@dataclass(frozen=True)
class Gaps:
    """Citation contexts as queries.

    Attributes:
        positions: (E,) where they are in the corpus, ascending.
        citing: (E,) the papers that they are of.
        cited: for each, the papers it cites.
    """

    positions: NDArray[np.int64]
    citing: NDArray[np.int32]
    cited: CSR

    @classmethod
    def of(cls, corpus: Corpus, positions: NDArray[np.int64]) -> Gaps:
        """Those of some contexts that cite another paper of the corpus."""
        owner, rows = corpus.context_cited.gather(positions)
        other = rows != corpus.context_citing[positions][owner]
        cited = CSR.build(owner[other], rows[other], len(positions))
        kept = np.flatnonzero(cited.degrees > 0)
        owner, rows = cited.gather(kept)
        return cls(
            positions[kept],
            np.asarray(corpus.context_citing[positions[kept]]),
            CSR.build(owner, rows, len(kept)),
        )

    @classmethod
    def known(cls, history: History) -> Gaps:
        """All that a history knows."""
        return cls.of(history.corpus, history.contexts)

    @classmethod
    def sample(cls, corpus: Corpus, papers: NDArray[np.int32], most: int) -> Gaps:
        """Those of some papers; where there are more than ``most``, so many of them, drawn evenly."""
        chosen = np.zeros(len(corpus), bool)
        chosen[papers] = True
        degrees = corpus.context_cited.degrees
        positions = np.flatnonzero(chosen[corpus.context_citing] & (degrees > 0))
        if len(positions) > most:
            positions = positions[np.linspace(0, len(positions) - 1, most).astype(np.int64)]
        return cls.of(corpus, positions)

    def __len__(self) -> int:
        return len(self.positions)

    def bundles(self, size: int, *, seed: int, epoch: int) -> CSR:
        """Examples: up to ``size`` contexts of one citing paper each, so that its title and abstract are read once.

        Which of a paper's contexts come together is drawn for each epoch; how many examples there are is not.
        """
        drawn = np.random.default_rng([seed, epoch]).permutation(len(self))
        order = drawn[np.argsort(self.citing[drawn], kind="stable")]
        papers = self.citing[order]
        begins = np.diff(papers, prepend=-1) != 0
        within = np.arange(len(order)) - np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
        number = np.cumsum(within % size == 0) - 1
        return CSR.build(number, order, int(number[-1]) + 1 if len(number) else 0)
