"""Anchor texts: BM25 indexes of what the history's contexts say of each paper they cite.

All known contexts that cite a paper make one document, as the texts of links to a page do in web search (Craswell,
Hawking and Robertson, 2001). It names what a paper is cited *for*, in the words of its readers, which its own abstract
often lacks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.corpus.csr import CSR, distinct
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_changes import with_words


def _empty() -> Bm25Index:
    return Bm25Index.build([])


@dataclass(frozen=True)
class AnchorTexts:
    """Three BM25 indexes; without arguments, each is empty.

    Attributes:
        windows: of the words next to the gap of each known context, a document a context.
        whole: document i is all contexts that cite paper i.
        near: document i is all windows of contexts that cite paper i.

    Example:
        >>> contexts = Bm25Index.build(["we parse with CKY", "a CKY chart parser", "neural translation"])
        >>> cited = CSR.build([0, 1, 2], [0, 0, 1], 3)
        >>> anchors = AnchorTexts.of(contexts, contexts, cited, papers=2)
        >>> anchors.whole.search(["CKY parser"], 1).rows
        array([[0]], dtype=int32)
    """

    windows: Bm25Index = field(default_factory=_empty)
    whole: Bm25Index = field(default_factory=_empty)
    near: Bm25Index = field(default_factory=_empty)

    @classmethod
    def of(cls, contexts: Bm25Index, windows: Bm25Index, cited: CSR, papers: int) -> AnchorTexts:
        """Group contexts and their windows by what they cite; no text is split again.

        Args:
            contexts: the known contexts.
            windows: the words next to their gaps, in the same order.
            cited: the papers that each context cites.
            papers: N.
        """
        owner, papers_cited = cited.pairs()
        return cls(
            windows,
            contexts.grouped(owner, papers_cited, papers),
            windows.grouped(owner, papers_cited, papers),
        )

    def changed(
        self, windows: Bm25Index, change: AnchorChange, papers: int, vocabulary: dict[str, int] | None = None
    ) -> AnchorTexts:
        """What some contexts add or take away; all statistics stay, and no other paper's words are touched.

        Args:
            windows: those of the contexts that are known then.
            change: what the contexts do to the papers that they cite.
            papers: how many papers there are then.
            vocabulary: the words of these anchor texts, and behind them the new ones.
        """
        whole, near = (
            with_words(index, change.papers, words, count=papers, vocabulary=vocabulary)
            for index, words in ((self.whole, change.whole), (self.near, change.near))
        )
        return AnchorTexts(windows, whole, near)


@dataclass(frozen=True)
class AnchorChange:
    """The words that some contexts add to the anchor texts of the papers they cite, or take away.

    Attributes:
        papers: (k,) their rows, ascending.
        whole: (k, V) how often each word of the contexts is added; negative where it is taken away.
        near: (k, V) likewise of the windows.

    Example:
        >>> counts = sp.csr_matrix(np.array([[1, 2], [0, 1]], np.int32))
        >>> change = AnchorChange.of(counts, counts, CSR.build([0, 1, 1], [4, 4, 7], 2))
        >>> change.papers.tolist(), change.whole.toarray().tolist()
        ([4, 7], [[1, 3], [0, 1]])
        >>> change.part(5, 9).papers.tolist()
        [2]
    """

    papers: NDArray[np.int64]
    whole: sp.csr_matrix
    near: sp.csr_matrix

    @classmethod
    def of(
        cls, contexts: sp.csr_matrix, windows: sp.csr_matrix, cited: CSR, *, times: int = 1
    ) -> AnchorChange:
        """What contexts change.

        Args:
            contexts: (m, V) the words of each context.
            windows: (m, V) those next to its gap.
            cited: the papers that each of them cites.
            times: 1 where the contexts join, -1 where they leave.
        """
        context, paper = cited.pairs()
        papers = distinct(paper.astype(np.int64))
        cells = (np.searchsorted(papers, paper), context)
        shape = (len(papers), len(cited))
        membership = sp.csr_matrix((np.full(len(paper), times, np.int32), cells), shape=shape)
        return cls(papers, *(_sorted(membership @ counts) for counts in (contexts, windows)))

    def part(self, first: int, last: int) -> AnchorChange:
        """The change of the papers ``first : last``, whose rows are counted from the first of them."""
        begin, end = np.searchsorted(self.papers, [first, last])
        return AnchorChange(self.papers[begin:end] - first, self.whole[begin:end], self.near[begin:end])


def _sorted(counts: sp.csr_matrix) -> sp.csr_matrix:
    counts = sp.csr_matrix(counts)
    counts.sort_indices()
    return counts


def cited_by_context(history: History) -> CSR:
    """For each known context, the papers it cites."""
    return cited_at(history.corpus, history.contexts)


def cited_at(corpus: Corpus, positions: NDArray[np.int64]) -> CSR:
    """For each of some contexts, given by their positions in the corpus, the papers it cites."""
    owner, cited = corpus.context_cited.gather(positions)
    return CSR.build(owner, cited, len(positions))
