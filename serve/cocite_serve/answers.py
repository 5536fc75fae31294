"""Between the API's words and the library's: a request becomes a query, recommendations become an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cocite.pipeline.options import Recommendation
from cocite.protocols import Query
from cocite_serve.manuscript import Manuscript
from cocite_serve.papers import Papers
from cocite_serve.schemas import (
    EvidenceOut,
    PaperOut,
    RecommendedPaper,
    RecommendRequest,
    RecommendResponse,
    Took,
)


@dataclass(frozen=True)
class Answer:
    """What the two stages say to one query, and the milliseconds each took."""

    recommendations: list[Recommendation]
    retrieve_ms: float
    rerank_ms: float


def query(parts: Manuscript, request: RecommendRequest) -> Query:
    """The library's query of a request."""
    return Query(
        id="request",
        context=parts.context,
        title=parts.title,
        abstract=parts.abstract,
        year=request.year,
        authors=tuple(request.authors),
        venue=request.venue,
    )


def response(
    parts: Manuscript, answer: Answer, papers: Papers, unknown: list[str], versions: dict[str, str]
) -> RecommendResponse:
    """The answer to a request."""
    found = answer.recommendations
    counts = papers.in_citations([one.row for one in found])
    return RecommendResponse(
        read_as="context" if parts.context else "title and abstract",
        gap=parts.gap,
        gaps=parts.gaps,
        context=parts.context,
        papers=[
            RecommendedPaper(
                rank=rank,
                id=one.id,
                title=one.title,
                authors=list(one.authors),
                year=one.year or None,
                venue=one.venue,
                abstract=one.abstract,
                doi=one.doi,
                in_citations=count,
                score=float(one.score),
                stages={name: float(value) for name, value in one.stages.items() if math.isfinite(value)},
                evidence=EvidenceOut.model_validate(one.evidence, from_attributes=True),
            )
            for rank, (one, count) in enumerate(zip(found, counts, strict=True), 1)
        ],
        unknown=unknown,
        took_ms=Took(
            retrieve=answer.retrieve_ms, rerank=answer.rerank_ms, total=answer.retrieve_ms + answer.rerank_ms
        ),
        **versions,
    )


def paper(papers: Papers, id_: str) -> PaperOut:
    """One paper of the corpus."""
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
