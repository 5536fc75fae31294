"""Marks the papers of an answer that its author has: they alone are compared with those of the request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from cocite.corpus.records import PaperRecord
from cocite.drafts.owned_names import OwnedNames
from cocite_serve.http.draft_schemas import TogetherOut
from cocite_serve.http.schemas import RecommendedPaper

P = TypeVar("P", RecommendedPaper, TogetherOut)


class LibraryMarks:
    """Sets ``in_library`` of papers, where a request names papers that its author has; else the marks stay null.

    Args:
        have: ids and DOIs, as of the request.

    Example:
        >>> papers = [TogetherOut(id="a", title="Trees", papers=3), TogetherOut(id="b", title="Words", papers=2)]
        >>> [paper.in_library for paper in LibraryMarks(["b"]).on(papers)]
        [False, True]
        >>> [paper.in_library for paper in LibraryMarks([]).on([TogetherOut(id="a", title="Trees", papers=3)])]
        [None]
    """

    def __init__(self, have: Sequence[str]) -> None:
        self._owned = OwnedNames(have) if have else None

    def on(self, papers: Iterable[P]) -> list[P]:
        """The papers, marked."""
        marked = list(papers)
        if self._owned is not None:
            for paper in marked:
                record = PaperRecord(paper.id, paper.title, venue=paper.venue, doi=paper.doi)
                paper.in_library = self._owned.has(record)
        return marked
