"""Anchor texts: BM25 indexes of what the history's contexts say of each paper they cite.

All known contexts that cite a paper make one document, as the texts of links to a page do in web search. It names
what a paper is cited *for*, in the words of its readers, which its own abstract often lacks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.retrieval.engines.bm25 import Bm25Index


def _empty() -> Bm25Index:
    return Bm25Index.build([])


@dataclass(frozen=True)
class AnchorTexts:
    """Three BM25 indexes; without arguments, of nothing.

    Attributes:
        windows: of the words next to the gap of each known context, a document a context.
        whole: document i is all contexts that cite paper i.
        near: document i is all windows of contexts that cite paper i.
    """

    windows: Bm25Index = field(default_factory=_empty)
    whole: Bm25Index = field(default_factory=_empty)
    near: Bm25Index = field(default_factory=_empty)

    @classmethod
    def of(
        cls,
        contexts: Bm25Index,
        windows: Bm25Index,
        ballots: CSR,
        papers: int,
        *,
        like: AnchorTexts | None = None,
    ) -> AnchorTexts:
        """Group contexts and their windows by what they cite; no text is split again.

        Args:
            contexts: the known contexts.
            windows: the words next to their gaps, in the same order.
            ballots: the papers that each context cites.
            papers: N.
            like: keep the corpus statistics of these, which are of fewer contexts: far quicker, for additions.
        """
        owner, cited = ballots.pairs()
        return cls(
            windows,
            contexts.grouped(owner, cited, papers, like=like.whole if like else None),
            windows.grouped(owner, cited, papers, like=like.near if like else None),
        )

    def save(self, folder: Path) -> None:
        """Write the three indexes into a new folder."""
        for name in ("windows", "whole", "near"):
            getattr(self, name).save(folder / name)

    @classmethod
    def load(cls, folder: Path) -> AnchorTexts:
        """Open what :meth:`save` wrote; the arrays are memory-mapped."""
        return cls(*(Bm25Index.load(folder / name) for name in ("windows", "whole", "near")))


def ballots_of(history: History) -> CSR:
    """For each known context, the papers it cites."""
    owner, cited = history.corpus.context_cited.gather(history.contexts)
    return CSR.build(owner, cited, len(history.contexts))
