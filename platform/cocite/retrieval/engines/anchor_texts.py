"""Anchor texts: BM25 indexes of what the history's contexts say of each paper they cite.

All known contexts that cite a paper make one document, as the texts of links to a page do in web search (Craswell,
Hawking and Robertson, 2001). It names what a paper is cited *for*, in the words of its readers, which its own abstract
often lacks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.retrieval.engines.bm25 import Bm25Index


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
    def of(
        cls,
        contexts: Bm25Index,
        windows: Bm25Index,
        cited: CSR,
        papers: int,
        *,
        like: AnchorTexts | None = None,
    ) -> AnchorTexts:
        """Group contexts and their windows by what they cite; no text is split again.

        Args:
            contexts: the known contexts.
            windows: the words next to their gaps, in the same order.
            cited: the papers that each context cites.
            papers: N.
            like: anchor texts of fewer contexts, whose corpus statistics are kept; far quicker, for additions.
        """
        owner, papers_cited = cited.pairs()
        return cls(
            windows,
            contexts.grouped(owner, papers_cited, papers, like=like.whole if like else None),
            windows.grouped(owner, papers_cited, papers, like=like.near if like else None),
        )


def cited_by_context(history: History) -> CSR:
    """For each known context, the papers it cites."""
    owner, cited = history.corpus.context_cited.gather(history.contexts)
    return CSR.build(owner, cited, len(history.contexts))
