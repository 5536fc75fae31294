"""The tools' answers as text, for agents that read no structured content."""

from __future__ import annotations

from functools import singledispatch

from cocite.corpus.records import TARGET_MARK
from cocite.systems.citing_sentences.quality import Quality
from cocite_serve.agents.answers import Bibliography, Explanation, FilledGaps, Paper, RankedPaper, Recommended
from cocite_serve.http.schemas import EvidenceOut

AUTHORS = 3
"""Authors that are named; further ones are "et al."."""

ABOUT = {"title and abstract": "Papers for the manuscript:", "seeds": "Papers near those that are liked:"}
"""What begins an answer that is for no gap."""


@singledispatch
def as_text(answer: object) -> str:
    """An answer as text, one paper a paragraph.

    Example:
        >>> from cocite_serve.agents.answers import CitationKey
        >>> print(as_text(Bibliography(bibtex="@misc{a}", keys=[CitationKey(id="P02-1040", key="a")])))
        @misc{a}
    """
    raise TypeError(f"a {type(answer).__name__} is no answer of a tool")


@as_text.register
def _(answer: Recommended) -> str:
    of_gap = answer.read_as == "context"
    about = f"Papers for the gap: {_line(answer.context)}" if of_gap else ABOUT[answer.read_as]
    further = answer.gaps - 1
    more = f"The text holds {further} further [CIT]: use fill_gaps." if further > 0 else ""
    return _paragraphs(about, _note(answer.note), *_papers(answer.papers), more, _unknown(answer.unknown))


@as_text.register
def _(answer: FilledGaps) -> str:
    parts = []
    for filled in answer.gaps:
        gap = f"Gap {filled.gap}: {_line(filled.context)}"
        parts += [gap, _note(filled.note), *_papers(filled.papers)]
    if told := answer.suggestion_quality:
        parts.append(Quality(told.precision, told.recall).sentence)
    for number, one in enumerate(answer.suggestions, 1):
        place = f"Suggestion {number}, line {one.line}, probability {one.probability:.2f}"
        parts += [f"{place}: {_line(one.sentence)}", _note(one.note), *_papers(one.papers)]
    return _paragraphs(*parts, _unknown(answer.unknown))


@as_text.register
def _(answer: Explanation) -> str:
    if answer.rank is not None:
        place = f"It is number {answer.rank} of the {answer.of} papers found for this text."
    elif answer.later:
        place = "It is later than the manuscript, and so not recommended to it."
    else:
        place = f"It is not among the {answer.of} papers found for this text."
    reasons = _reasons(answer.evidence) or ["Nothing in the corpus speaks for it."]
    return _paragraphs("\n".join([_reference(answer.paper), place, *reasons]))


@as_text.register
def _(answer: Bibliography) -> str:
    return _paragraphs(answer.bibtex, *map(_line, answer.formatted)) if answer.formatted else answer.bibtex


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _note(note: str) -> str:
    """The note of a list as a sentence; "" where there is none."""
    return f"{note[0].upper()}{note[1:]}." if note else ""


def _papers(papers: list[RankedPaper]) -> list[str]:
    if not papers:
        return ["No paper fits."]
    return [
        "\n".join([f"{paper.rank}. {_reference(paper)}", *_reasons(paper.evidence), *_abstract(paper)])
        for paper in papers
    ]


def _reference(paper: Paper) -> str:
    authors = ", ".join(_line(author) for author in paper.authors[:AUTHORS])
    authors += " et al." if len(paper.authors) > AUTHORS else ""
    parts = [
        _line(paper.title),
        authors,
        str(paper.year or ""),
        _line(paper.venue),
        f"doi:{_line(paper.doi)}" if paper.doi else "",
        f"cited by {paper.in_citations} papers of the corpus",
        f"id: {_line(paper.id)}",
    ]
    return " | ".join(part for part in parts if part)


def _reasons(evidence: EvidenceOut) -> list[str]:
    lines = []
    if evidence.shared_words:
        lines.append(f"   shared words: {', '.join(_line(shared.word) for shared in evidence.shared_words)}")
    lines += [f"   cited by the similar paper: {_line(paper.title)}" for paper in evidence.cited_by]
    lines += [f"   linked with the liked paper: {_line(paper.title)}" for paper in evidence.seeds]
    lines += [f'   cited as: "{_line(cited.sentence)}"' for cited in evidence.sentences]
    return lines


def _abstract(paper: RankedPaper) -> list[str]:
    return [f"   abstract: {_line(paper.abstract)}"] if paper.abstract else []


def _unknown(ids: list[str]) -> str:
    return f"Not in the corpus: {', '.join(map(_line, ids))}" if ids else ""


def _line(text: str) -> str:
    """A text of the corpus in one line, so that it cannot look like another part of the answer."""
    return " ".join(text.split()).replace(TARGET_MARK, "[CIT]")
