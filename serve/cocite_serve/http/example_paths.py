"""The path that gives drafts to try.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

from functools import cache

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cocite.corpus.starter.drafts import starter_drafts
from cocite_serve.http.openapi import refusals
from cocite_serve.http.papers import Papers
from cocite_serve.http.pasted_text import read_pasted
from cocite_serve.http.service import Service


class ExampleDraft(BaseModel):
    """A draft to try.\f

    Example:
        >>> ExampleDraft(name="search.md", title="Dense retrieval", text="We search [@?].").name
        'search.md'
    """

    name: str = Field(description="Name of its file.")
    title: str
    text: str = Field(description="With gaps, as `text` of `/v1/recommend`.")


def example_router(service: Service) -> APIRouter:
    """The path over a service."""
    router = APIRouter(tags=["service"])

    @router.get(
        "/v1/examples",
        summary="Drafts to try",
        description="The drafts that come with the starter corpus, as far as the index holds the paper that a reader "
        "would expect in each of their gaps. Of any other corpus the list is empty.",
        responses=refusals(),
    )
    async def examples() -> list[ExampleDraft]:
        return examples_among(service.current().papers)

    return router


def examples_among(papers: Papers) -> list[ExampleDraft]:
    """The drafts for whose gaps an index holds the expected papers.

    Example:
        >>> import numpy as np
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> [draft.name for draft in examples_among(Papers(corpus, np.ones(len(corpus.years), bool)))]
        ['translation.tex', 'search.md', 'recommendation.txt']
    """
    return [draft for draft, expected in _drafts() if (papers.rows(expected) >= 0).all()]


@cache
def _drafts() -> tuple[tuple[ExampleDraft, tuple[str, ...]], ...]:
    """Each draft, and the ids of the papers that are expected in its gaps."""
    found = []
    for draft in starter_drafts():
        text = draft.path.read_text(encoding="utf-8")
        title = read_pasted(text).title
        found.append((ExampleDraft(name=draft.path.name, title=title, text=text), draft.expected))
    return tuple(found)
