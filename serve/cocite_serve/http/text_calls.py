"""Scores and vectors of texts and papers, in whichever format they were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cocite.drafts.gaps import GAP
from cocite.errors import InputError, NotFoundError, nearest
from cocite.pipeline.options import Options, Recommendation
from cocite.protocols import Query
from cocite_serve.http.backend import Backend
from cocite_serve.http.manuscript import parse_manuscript
from cocite_serve.http.service import Service
from cocite_serve.http.text_work import CrossEncoderFacts, EmbedWork, EncoderFacts, ModelFacts, ScoreWork

CROSS_ENCODER = "cross-encoder"
KINDS = {"local": "a context or text with [CIT]", "global": "a title and abstract"}


class NoModelError(InputError):
    """The model that is served lacks what the request needs.

    Example:
        >>> raise NoModelError("the model that is served has no encoder")
        Traceback (most recent call last):
        ...
        cocite_serve.http.text_calls.NoModelError: the model that is served has no encoder
    """


@dataclass(frozen=True)
class PaperScores:
    """Scores of papers of the index.

    Attributes:
        papers: with the scores of the stages; in any order.
        scored_by: the stage whose scores are to order them.

    Example:
        >>> PaperScores([], "first-stage").scored_by
        'first-stage'
    """

    papers: list[Recommendation]
    scored_by: str


def require_cross_encoder(facts: ModelFacts, kind: str | None = None) -> CrossEncoderFacts:
    """The cross-encoder, which reads queries of a kind.

    Raises:
        NoModelError: there is none, or it reads the other kind.
    """
    if facts.cross_encoder is None:
        raise NoModelError(
            "the model that is served has no cross-encoder, which alone can score texts; ids of papers can be scored "
            "without one",
            where="texts",
        )
    if kind is not None and facts.cross_encoder.kind != kind:
        raise NoModelError(
            f"the cross-encoder that is served reads {KINDS[facts.cross_encoder.kind]}, and the query is {KINDS[kind]}",
            where="texts",
        )
    return facts.cross_encoder


def require_encoder(facts: ModelFacts, name: str | None = None) -> EncoderFacts:
    """The encoder of a name, or the default one.

    Raises:
        NoModelError: there is none.
    """
    default, names = facts.default_encoder, [encoder.name for encoder in facts.encoders]
    if default is None:
        raise NoModelError(
            "the model that is served has no encoder whose vectors the index holds", where="encoder"
        )
    if name is None:
        return default
    for encoder in facts.encoders:
        if encoder.name == name:
            return encoder
    raise NoModelError(
        f"no encoder that is served is called {name!r}", where="encoder", hint=nearest(name, names)
    )


def require_papers(encoder: EncoderFacts, field: str | None = None) -> None:
    """Raise NoModelError where an encoder cannot read a text as a paper."""
    if not encoder.encodes_papers:
        raise NoModelError(
            f"{encoder.name} encodes papers of the index alone, and no text as one", where=field
        )


def query_of(text: str, kind: str | None = None) -> Query:
    """A plain text as a query of a kind; without one, of the local kind where it marks a gap."""
    if kind is None:
        kind = "local" if GAP.search(text) else "global"
    if kind == "local":
        return Query("text", context=parse_manuscript(context=text).context)
    return Query("text", title=text)


def rows_of(backend: Backend, ids: Sequence[str]) -> list[int]:
    """The rows of some ids; NotFoundError for the first that is not there."""
    rows = backend.papers.rows(ids)
    if (rows < 0).any():
        raise NotFoundError(f"no paper has the id {ids[int(np.argmax(rows < 0))]!r}", where="ids")
    return [int(row) for row in rows]


async def score_papers(
    service: Service, backend: Backend, query: Query, rows: Sequence[int], deadline_ms: int | None
) -> PaperScores:
    """The scores of papers by the stages of a recommendation, which are given these candidates alone."""
    only = tuple(sorted(set(rows)))
    options = Options(
        top_k=len(only),
        depth=len(only),
        rerank=len(only),
        cross_weight=1.0,
        candidates="all",
        only=only,
        evidence=False,
    )
    answer = await service.within(
        deadline_ms, lambda deadline: backend.recommend(query, options, deadline), partial=False
    )
    papers = answer.recommendations
    if papers and all(CROSS_ENCODER in paper.stages for paper in papers):
        return PaperScores(papers, CROSS_ENCODER)
    return PaperScores(papers, next(reversed(papers[0].stages)) if papers else "first-stage")


async def score_texts(
    service: Service, backend: Backend, work: ScoreWork, deadline_ms: int | None
) -> NDArray[np.float32]:
    """(r,) the cross-encoder's logits of texts."""
    return await service.within(deadline_ms, lambda deadline: backend.score(work, deadline))


async def embed(
    service: Service, backend: Backend, work: EmbedWork, deadline_ms: int | None
) -> NDArray[np.float32]:
    """(n, d) the vectors of texts or papers."""
    return await service.within(deadline_ms, lambda deadline: backend.embed(work, deadline))


def relevance(logits: ArrayLike) -> NDArray[np.float64]:
    """Logits as relevances between 0 and 1: their sigmoids.

    Example:
        >>> relevance(np.array([-1000.0, 0.0, 1000.0], np.float32)).tolist()
        [0.0, 0.5, 1.0]
    """
    values = np.asarray(logits, np.float64)
    result: NDArray[np.float64] = 0.5 * (1 + np.tanh(values / 2))
    return result
