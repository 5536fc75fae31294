"""Conversion between the API's schemas and the library's types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cocite.pipeline.confidence import list_note
from cocite.pipeline.options import Recommendation
from cocite.protocols import Query
from cocite.text.gaps import has_letters
from cocite_serve.http.manuscript import NO_TEXT, Manuscript
from cocite_serve.http.papers import Papers
from cocite_serve.http.query_fields import QueryText
from cocite_serve.http.request_seeds import NO_SEEDS, Seeds
from cocite_serve.http.schemas import (
    EvidenceOut,
    PaperOut,
    RecommendedPaper,
    RecommendResponse,
    ReleaseName,
    Reranked,
    Shards,
    Took,
)


class Stamps(Protocol):
    """A release, as far as a response tells of it.

    Example:
        >>> class Nothing:
        ...     papers, model_version, index_version = None, "5f0c", "000001"
        >>> Answer([], 1.0, 1.0, answered_by=Nothing()).answered_by.index_version
        '000001'
    """

    papers: Papers
    model_version: str
    index_version: str


@dataclass(frozen=True)
class Answer:
    """The two stages' output for one query.

    Attributes:
        recommendations: the ranked papers, best first.
        retrieve_ms: milliseconds of the first stage.
        rerank_ms: milliseconds of the second stage.
        shards: how many the index is divided into; 0: it is searched whole.
        missing_shards: numbers, from 0, of those that did not answer.
        read: candidates that the cross-encoder has read.
        to_read: candidates that it was to read; 0: it reads none for this request.
        answered_by: the release that gave the answer, where that is another one than the backend tells of.
        release: which one that is, for the client.
        token: names an answer that has papers of two releases; empty: it is of one.
        in_citations: of each paper, where not all are of one index.
        unlike_corpus: whether the query's text is unlike the papers of the index.

    Example:
        >>> answer = Answer([], retrieve_ms=12.5, rerank_ms=80.0)
        >>> answer.retrieve_ms + answer.rerank_ms
        92.5
    """

    recommendations: list[Recommendation]
    retrieve_ms: float
    rerank_ms: float
    shards: int = 0
    missing_shards: tuple[int, ...] = ()
    read: int = 0
    to_read: int = 0
    answered_by: Stamps | None = None
    release: ReleaseName = "served"
    token: str = ""
    in_citations: tuple[int, ...] | None = None
    unlike_corpus: bool = False


def to_query(manuscript: Manuscript, request: QueryText, seeds: Seeds = NO_SEEDS) -> Query:
    """The library's query of a request whose text was parsed, and whose seeds were found."""
    return Query(
        id="request",
        context=manuscript.context,
        title=manuscript.title,
        abstract=manuscript.abstract,
        year=request.year,
        authors=tuple(request.authors),
        venue=request.venue,
        like=seeds.like,
        dislike=seeds.dislike,
    )


def to_response(
    manuscript: Manuscript,
    answer: Answer,
    papers: Papers,
    unknown: list[str],
    versions: dict[str, str],
    offset: int = 0,
    *,
    explained: bool = True,
) -> RecommendResponse:
    """The API's response to a request.

    Args:
        manuscript: the request's text, parsed.
        answer: of the stages.
        papers: the corpus' papers.
        unknown: excluded ids that the corpus does not have.
        versions: ``model_version`` and ``index_version``.
        offset: papers of earlier pages.
        explained: whether the answer has evidence.
    """
    counts: Sequence[int] = (
        papers.in_citations([paper.row for paper in answer.recommendations])
        if answer.in_citations is None
        else answer.in_citations
    )
    return RecommendResponse(
        read_as=manuscript.read_as,
        gap=manuscript.gap,
        gaps=manuscript.gaps,
        context=manuscript.context,
        papers=[
            RecommendedPaper(
                rank=rank,
                id=paper.id,
                title=paper.title,
                authors=list(paper.authors),
                year=paper.year or None,
                venue=paper.venue,
                abstract=paper.abstract,
                doi=paper.doi,
                in_citations=count,
                score=float(paper.score),
                confidence=paper.confidence,
                stages={name: float(value) for name, value in paper.stages.items() if math.isfinite(value)},
                evidence=EvidenceOut.model_validate(paper.evidence, from_attributes=True),
            )
            for rank, (paper, count) in enumerate(
                zip(answer.recommendations, counts, strict=True), offset + 1
            )
        ],
        note="" if offset else list_note(answer.recommendations, unlike_corpus=answer.unlike_corpus),
        unlike_corpus=answer.unlike_corpus,
        unknown=unknown,
        warning=_warning(manuscript, answer, explained),
        shards=_shards(answer),
        reranked=Reranked(read=answer.read, of=answer.to_read) if answer.to_read else None,
        took_ms=Took(
            retrieve=answer.retrieve_ms, rerank=answer.rerank_ms, total=answer.retrieve_ms + answer.rerank_ms
        ),
        release=answer.release,
        interleaved=answer.token or None,
        **versions,
    )


def _warning(manuscript: Manuscript, answer: Answer, explained: bool) -> str | None:
    """Why a list says little about the text; None where it says something."""
    if manuscript == NO_TEXT:
        return (
            None
            if answer.recommendations
            else "Nothing in the corpus is linked with these papers or like them."
        )
    if not has_letters(f"{manuscript.title} {manuscript.abstract} {manuscript.context}"):
        return "The text has no words to search with, so these papers have nothing to do with it."
    found = [paper.evidence for paper in answer.recommendations]
    reasons = (one.shared_words or one.cited_by or one.sentences or one.seeds for one in found)
    if not explained or not found or any(reasons):
        return None
    return (
        "None of these papers has a word, a similar paper or a similar sentence in common with the text, so their "
        "order says little. Describe the claim in more words, in the language of the corpus."
    )


def _shards(answer: Answer) -> Shards | None:
    """How many shards of the index answered, by numbers from 1; None where it is searched whole."""
    if not answer.shards:
        return None
    missing = [number + 1 for number in answer.missing_shards]
    return Shards(answered=answer.shards - len(missing), of=answer.shards, missing=missing)


def to_paper(papers: Papers, id_: str) -> PaperOut:
    """The API's form of one paper of the corpus; raises NotFoundError when the corpus does not have it."""
    record = papers.records([id_])[0]
    return PaperOut(
        id=record.id,
        title=record.title,
        authors=list(record.authors),
        year=record.year or None,
        venue=record.venue,
        abstract=record.abstract,
        doi=record.doi,
        in_citations=papers.in_citations(papers.rows([id_]))[0],
    )
