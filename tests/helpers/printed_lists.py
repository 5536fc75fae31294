"""Lists of references of the starter corpus' papers, printed in the commonest styles."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Sequence
from functools import cache

from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus

Style = Callable[[int, PaperRecord], str]
"""Makes a reference of its number and its paper."""


def _last(author: str) -> str:
    return author.split()[-1]


def _initials(author: str) -> str:
    return " ".join(f"{word[0]}." for word in author.split()[:-1])


def _listed(names: Sequence[str], last: str = "and") -> str:
    if len(names) < 3:
        return f" {last} ".join(names)
    return f"{', '.join(names[:-1])}, {last} {names[-1]}"


def _first(paper: PaperRecord) -> list[str]:
    return [f"{_initials(author)} {_last(author)}" for author in paper.authors]


def _behind(paper: PaperRecord) -> list[str]:
    return [f"{_last(author)}, {_initials(author)}" for author in paper.authors]


def _acl(_: int, paper: PaperRecord) -> str:
    return f"{_listed(paper.authors)}. {paper.year}. {paper.title}. In {paper.venue}, pages 12–34."


def _plain(_: int, paper: PaperRecord) -> str:
    return f"{_listed(paper.authors)}. {paper.title}. {paper.venue}, 12(3):1–20, {paper.year}."


def _apa(number: int, paper: PaperRecord) -> str:
    names = _listed(_behind(paper), "&")
    return (
        f"{names} ({paper.year}). {paper.title}. {paper.venue}, 12(3), 1–20. https://doi.org/10.1/x{number}"
    )


def _icml(_: int, paper: PaperRecord) -> str:
    return f"{_listed(_behind(paper))}. {paper.title}. In {paper.venue}, pp. 1–20, {paper.year}."


def _ieee(number: int, paper: PaperRecord) -> str:
    return f"[{number}] {_listed(_first(paper))}, “{paper.title},” in {paper.venue}, {paper.year}, pp. 1–20."


def _lncs(number: int, paper: PaperRecord) -> str:
    return f"{number}. {', '.join(_behind(paper))}: {paper.title}. In: {paper.venue}. pp. 1–20 ({paper.year})"


def _elsevier(number: int, paper: PaperRecord) -> str:
    return f"[{number}] {', '.join(_first(paper))}, {paper.title}, {paper.venue} 12 ({paper.year}) 1–20."


def _vancouver(number: int, paper: PaperRecord) -> str:
    names = ", ".join(f"{_last(a)} {_initials(a).replace('.', '').replace(' ', '')}" for a in paper.authors)
    return f"{number}. {names}. {paper.title}. {paper.venue}. {paper.year};12(3):1-20."


STYLES: dict[str, Style] = {
    "acl": _acl,
    "plain": _plain,
    "apa": _apa,
    "icml": _icml,
    "ieee": _ieee,
    "lncs": _lncs,
    "elsevier": _elsevier,
    "vancouver": _vancouver,
}


@cache
def listed_papers() -> tuple[tuple[PaperRecord, ...], ...]:
    """Eight lists of 40 papers, in the order of their first authors."""
    corpus = starter_corpus()
    papers = [
        paper
        for paper in corpus.papers_at(range(len(corpus)))
        if paper.year and paper.venue and paper.authors
    ]
    random.Random(1).shuffle(papers)
    lists = (papers[at : at + 40] for at in range(0, 320, 40))
    return tuple(tuple(sorted(one, key=lambda paper: _last(paper.authors[0]))) for one in lists)


def printed(style: str, papers: Sequence[PaperRecord], width: int) -> list[list[str]]:
    """The lines of each reference.

    Args:
        style: one of ``STYLES``.
        papers: in the order of the list.
        width: characters of a line.
    """
    return [textwrap.wrap(STYLES[style](number, paper), width) for number, paper in enumerate(papers, 1)]


def cited_by_name(paper: PaperRecord) -> str:
    """A sentence that cites a paper by author and year."""
    names = [_last(author) for author in paper.authors]
    shown = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"We do as others ({shown}, {paper.year}) do."
