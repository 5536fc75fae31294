"""The path ``/v1/links``: which of some papers cite which, and which are cited together.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

import asyncio

from fastapi import APIRouter

from cocite.retrieval.signals.links_among import links_among
from cocite_serve.http.link_schemas import CitationOut, CocitationOut, LinksRequest, LinksResponse
from cocite_serve.http.openapi import refusals
from cocite_serve.http.papers import Papers
from cocite_serve.http.problems import check_lengths
from cocite_serve.http.service import Service


def link_router(service: Service) -> APIRouter:
    """The path over a service."""
    router = APIRouter(tags=["papers"])
    limits = service.settings.limits

    @router.post(
        "/v1/links",
        summary="Citations and co-citations among papers",
        description=f"Which of up to {limits.links} papers cite which, and how many papers of the corpus cite two of "
        "them together: what the page draws of its list. Only links that the index knows count.",
        responses=refusals(422, 504),
    )
    async def links(request: LinksRequest) -> LinksResponse:
        service.check_count(len(request.ids), "ids", limits.links)
        check_lengths(request.ids, "ids", limits)
        backend = service.current()
        # A thread keeps the event loop free for other requests: a million citations take a while to count.
        return await service.within(
            None, lambda _: asyncio.to_thread(_links, backend.papers, request.ids, backend.index_version)
        )

    return router


def _links(papers: Papers, ids: list[str], index_version: str) -> LinksResponse:
    names = list(dict.fromkeys(ids))
    rows = papers.rows(names)
    known = [name for name, row in zip(names, rows, strict=True) if row >= 0]
    found = links_among(papers.history, rows[rows >= 0])
    return LinksResponse(
        citations=[
            CitationOut(citing=known[citing], cited=known[cited])
            for citing, cited in found.citations.tolist()
        ],
        cocitations=[
            CocitationOut(first=known[one], second=known[other], papers=count)
            for one, other, count in found.cocitations.tolist()
        ],
        uncounted=[known[position] for position in found.uncounted.tolist()],
        unknown=[name for name, row in zip(names, rows, strict=True) if row < 0],
        index_version=index_version,
    )
