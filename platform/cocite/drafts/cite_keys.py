"""The keys by which a draft cites papers that are recommended to it, one for each paper whenever it comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cocite.corpus.bibtex import citation_keys
from cocite.corpus.records import PaperRecord


class CiteKeys:
    """Keys of papers: the author's own where there is one, else a new one that no other paper has.

    Args:
        own: id of a paper -> the key that the author's bibliography gives it.
        taken: keys that stand for something else.
        form: of new keys, see :func:`~cocite.corpus.bibtex.citation_keys`.

    Example:
        >>> keys = CiteKeys({"W1": "vaswani"}, taken=["lee1999parsing"])
        >>> papers = [PaperRecord("W1", "Attention"), PaperRecord("W2", "Parsing", year=1999, authors=("Ann Lee",))]
        >>> keys.of(papers), keys.of(papers[1:])
        (['vaswani', 'lee1999parsingb'], ['lee1999parsingb'])
    """

    def __init__(self, own: Mapping[str, str], taken: Iterable[str], form: str = "cocite") -> None:
        self._keys, self._form = dict(own), form
        self._taken = {*taken, *own.values()}

    def of(self, papers: Sequence[PaperRecord]) -> list[str]:
        """The key of each paper."""
        new = [paper for paper in papers if paper.id not in self._keys]
        for paper, key in zip(new, citation_keys(new, self._taken, self._form), strict=True):
            self._keys[paper.id] = key
            self._taken.add(key)
        return [self._keys[paper.id] for paper in papers]
