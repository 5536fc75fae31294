"""Where the papers that a reader would expect stand among those recommended for the gaps of the starter drafts."""

from __future__ import annotations

from dataclasses import dataclass

from cocite.corpus.starter.drafts import starter_drafts
from cocite.drafts.advice import Adviser
from cocite.drafts.reading import read_draft
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender

DEPTH = 100
"""Papers of each gap among which the expected one is sought."""


@dataclass(frozen=True, slots=True)
class ExpectedPaper:
    """The paper that a reader would expect in a gap, and its rank.

    Attributes:
        draft: name of the draft's file.
        gap: its number, from 1.
        title: of the paper.
        rank: from 1; None where it is not among the first :data:`DEPTH` papers.

    Example:
        >>> ExpectedPaper("search.md", 1, "Dense Passage Retrieval", None).rank_text
        'after 100'
    """

    draft: str
    gap: int
    title: str
    rank: int | None

    @property
    def rank_text(self) -> str:
        """The rank in words for a table."""
        return f"after {DEPTH}" if self.rank is None else str(self.rank)


def rank_expected(recommender: Recommender) -> list[ExpectedPaper]:
    """The rank of the expected paper in each gap of each starter draft.

    Args:
        recommender: over an index of the starter corpus.

    Raises:
        NotFoundError: the index lacks an expected paper.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> recommender = Recommender.over(None, Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> rank_expected(recommender)[0].title
        'Neural Machine Translation by Jointly Learning to Align and Translate'
    """
    corpus = recommender.index.corpus
    result = []
    for draft in starter_drafts():
        answers = Adviser(recommender, read_draft(draft.path)).gaps(Options(top_k=DEPTH))
        for answer, expected in zip(answers, draft.expected, strict=True):
            ids = [paper.id for paper in answer.papers]
            title = corpus.paper(corpus.row(expected)).title
            rank = ids.index(expected) + 1 if expected in ids else None
            result.append(ExpectedPaper(draft.path.name, answer.number, title, rank))
    return result
