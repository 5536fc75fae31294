"""Papers that are usually cited together with what a draft cites, and that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.signals.cocited import count_cocited


@dataclass(frozen=True, slots=True)
class CitedTogether:
    """A paper that others cite together with papers of the draft.

    Attributes:
        row: of the paper.
        papers: how many papers cite it and at least one paper that the draft cites.
        shared: citations of the draft's papers by those, in all.

    Example:
        >>> CitedTogether(row=4, papers=12, shared=30).papers
        12
    """

    row: int
    papers: int
    shared: int


class LinkedPapers(Protocol):
    """Papers and the links between them, such as an index has.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> papers: LinkedPapers = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> len(papers.corpus)
        423
    """

    @property
    def corpus(self) -> Corpus:
        """The papers."""

    @property
    def history(self) -> History:
        """Whose links are known."""

    @property
    def alive(self) -> NDArray[np.bool_]:
        """(N,) False for removed papers."""


def cited_together(
    index: LinkedPapers, cited: Sequence[int], *, k: int, year: int | None = None, least: int = 2
) -> list[CitedTogether]:
    """The papers with the most co-citations with a draft's citations (Small 1973), without these themselves.

    A citing paper counts as often as it cites papers of the draft, so those most like the draft (by bibliographic
    coupling, Kessler 1963) count most; the sum is divided by the root of the paper's citations, or what everybody
    cites would come first always.

    Args:
        index: whose known links count.
        cited: rows of the draft's citations.
        k: how many papers.
        year: latest year of a paper; papers of unknown year stay.
        least: papers that have to cite both.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> corpus = starter_corpus()
        >>> index = Index.build(corpus, History.all(corpus))
        >>> titles = corpus.papers.take("title", range(len(corpus)))
        >>> first, *_ = cited_together(index, [titles.index("Attention Is All You Need")], k=3)
        >>> corpus.paper(first.row).title
        'BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding'
    """
    rows = np.unique(np.asarray(cited, np.int64))
    if not len(rows) or k < 1:
        return []
    found = count_cocited(index.history, rows)
    allowed = index.alive[found.rows] & (found.papers >= least) & ~np.isin(found.rows, rows)
    if year:
        allowed &= index.corpus.years[found.rows] <= year  # an unknown year is 0
    # What cites them is known, so that each is cited at least once.
    scores = np.where(allowed, found.shared / np.sqrt(index.history.in_citations[found.rows]), -np.inf)
    best = np.argsort(-scores, kind="stable")[:k]
    return [
        CitedTogether(int(found.rows[i]), int(found.papers[i]), int(found.shared[i]))
        for i in best[scores[best] > 0].tolist()
    ]
