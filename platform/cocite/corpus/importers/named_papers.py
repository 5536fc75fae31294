"""Finds which papers of a folder its references mean, by DOI, arXiv number and title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from cocite.corpus.records import Malformed, PaperRecord, Record
from cocite.corpus.title_forms import normal_titles


class Named(NamedTuple):
    """What a paper or a reference is found by; each is empty when unknown.

    Example:
        >>> Named(doi="10.1/a", arxiv="", title="On BERT").title
        'On BERT'
    """

    doi: str
    """In lower case."""
    arxiv: str
    """Number of the preprint."""
    title: str


class NamedPapers:
    """The ids of a folder's papers by what they are found by; some hundred bytes for each.

    Args:
        by_letters: compare titles without the spaces in them: the end of a printed line may divide a word, and nothing
            says whether its hyphen belongs to it.

    Example:
        >>> papers = NamedPapers()
        >>> papers.add("a", Named("10.1/a", "", "On BERT: a study"))
        >>> papers.find([Named("", "", "On BERT - a study"), Named("10.1/a", "", ""), Named("10.1/b", "", "BERT")])
        ['a', 'a', '']
    """

    def __init__(self, *, by_letters: bool = False) -> None:
        self._by_letters = by_letters
        self._ids: dict[str, str] = {}

    def add(self, id_: str, name: Named) -> None:
        """Add a paper. Of several with one DOI or arXiv number the first is found, of several with one title none."""
        doi, arxiv, title = self._keys([name])[0]
        for key in (doi, arxiv):
            if key:
                self._ids.setdefault(key, id_)
        if title:
            # A title of two papers says of neither that it is meant.
            self._ids[title] = id_ if self._ids.get(title, id_) == id_ else ""

    def find(self, names: Iterable[Named]) -> list[str]:
        """The ids of papers: by the DOI, else the arXiv number, else the title; empty for those that are not there."""
        return [
            next(filter(None, (self._ids.get(key, "") for key in keys)), "")
            for keys in self._keys(list(names))
        ]

    def _keys(self, names: list[Named]) -> list[tuple[str, str, str]]:
        """The keys of papers, the surest first; each is empty when unknown."""
        titles = normal_titles(pa.array([name.title for name in names], pa.string())).to_pylist()
        return [
            (
                f"doi {name.doi}" if name.doi else "",
                f"arxiv {name.arxiv}" if name.arxiv else "",
                # One word, such as "Editorial", is the title of many papers.
                f"title {title.replace(' ', '') if self._by_letters else title}" if " " in title else "",
            )
            for name, title in zip(names, titles, strict=True)
        ]


def linked(paper: PaperRecord, cited: Sequence[str], field: str) -> Iterator[Record]:
    """A paper with its citations, and a report of its references that are no papers of the folder.

    Args:
        paper: without citations.
        cited: id of the paper that each of its references means; empty: it is none of the folder.
        field: of the source that holds the references.

    Example:
        >>> paper, report = linked(PaperRecord("a", "A"), ["b", ""], "references")
        >>> paper.citations, report.rule, report.count
        (('b',), 'unmatched_citation', 1)
    """
    paper.citations = tuple(filter(None, cited))
    yield paper
    if unmatched := list(cited).count(""):
        reason = f"{unmatched} of {len(cited)} references of {paper.id} are no papers of the folder"
        yield Malformed(reason, field, "unmatched_citation", count=unmatched)
