"""The paths that give papers as references: BibTeX, RIS, CSL-JSON, and formatted in a style of CSL.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from cocite.corpus.records import PaperRecord
from cocite.corpus.references import FORMS, ReferenceForm
from cocite.drafts.reference_styles import ReferenceStyle
from cocite.drafts.style_names import DEFAULT_STYLE
from cocite.errors import InputError
from cocite_serve.http.openapi import refusals
from cocite_serve.http.query_fields import KEY_FORMS, STYLE_NAMES, TAKEN_KEYS, CiteKey, KeyForm, StyleName
from cocite_serve.http.service import Service

PLAIN = "text/plain"
Ids = Annotated[list[str], Query(description="Ids of papers.")]
CiteKeys = Annotated[KeyForm, Query(description=f"Form of keys: {KEY_FORMS}")]
Style = Annotated[StyleName, Query(description=f"Style of the references: {STYLE_NAMES}")]


def reference_router(service: Service) -> APIRouter:
    """The paths over a service, two for each form of references."""
    router = APIRouter(tags=["papers"])
    for path, form in FORMS.items():
        _add(router, service, path, form)
    _add_formatted(router, service)
    return router


def _add(router: APIRouter, service: Service, path: str, form: ReferenceForm) -> None:
    schema: dict[str, Any] = {"type": "string"}
    if form.media_type.endswith("json"):
        schema = {"type": "array", "items": {"type": "object"}}
    answer: dict[int | str, dict[str, Any]] = {200: {"content": {form.media_type: {"schema": schema}}}}

    most = service.settings.limits.exclude
    taken_keys = Annotated[
        list[CiteKey], Query(default_factory=list, max_length=most, description=TAKEN_KEYS)
    ]

    def written(ids: list[str], keys_as: str, taken: list[str]) -> Response:
        papers = service.current().papers.records(ids)
        return Response(form.text(papers, keys_as, taken), media_type=form.media_type)

    @router.get(
        f"/v1/{path}",
        summary=f"Several papers as {form.name}, with keys that differ",
        operation_id=f"several_{path}",
        response_class=Response,
        responses={**answer, **refusals(404, 422)},
    )
    async def several(id: Ids, taken: taken_keys, cite_keys: CiteKeys = "cocite") -> Response:
        _check_count(service, id)
        return written(id, cite_keys, taken)

    # Ids may hold slashes (a DOI, an address), hence `:path`.
    @router.get(
        f"/v1/papers/{{id:path}}/{path}",
        summary=f"One paper as {form.name}",
        operation_id=f"one_{path}",
        response_class=Response,
        responses={**answer, **refusals(404, 422)},
    )
    async def one(id: str, taken: taken_keys, cite_keys: CiteKeys = "cocite") -> Response:
        return written([id], cite_keys, taken)


def _add_formatted(router: APIRouter, service: Service) -> None:
    answer: dict[int | str, dict[str, Any]] = {200: {"content": {PLAIN: {"schema": {"type": "string"}}}}}
    # One at a time: citeproc-py computes in Python, and several would hold the event loop up together.
    thread = ThreadPoolExecutor(1, "references")

    async def written(ids: list[str], style: str) -> Response:
        papers = service.current().papers.records(ids)
        loop = asyncio.get_running_loop()
        text = await service.within(None, lambda _: loop.run_in_executor(thread, formatted, papers, style))
        return Response(text, media_type=PLAIN)

    @router.get(
        "/v1/formatted",
        summary="Several papers as references in a style of CSL, one a line",
        description="As plain text, in the order of the ids; numbered in it where the style numbers references.",
        operation_id="several_formatted",
        response_class=Response,
        responses={**answer, **refusals(404, 422, 504)},
    )
    async def several(id: Ids, style: Style = DEFAULT_STYLE) -> Response:
        _check_count(service, id)
        return await written(id, style)

    @router.get(
        "/v1/papers/{id:path}/formatted",
        summary="One paper as a reference in a style of CSL",
        operation_id="one_formatted",
        response_class=Response,
        responses={**answer, **refusals(404, 422, 504)},
    )
    async def one(id: str, style: Style = DEFAULT_STYLE) -> Response:
        return await written([id], style)


def formatted(papers: Sequence[PaperRecord], style: str) -> str:
    """Papers as references in a style, a line each.

    Raises:
        InputError: citeproc-py cannot use the style, or it has no bibliography.

    Example:
        >>> print(formatted([PaperRecord("a", "Trees", year=1999, authors=("Ann Lee",))], "apa"), end="")
        Lee, A. (1999). Trees.
    """
    try:
        references = ReferenceStyle.named(style).references(papers)
    except InputError as error:
        raise InputError(str(error), where="style") from None
    return "".join(f"{reference.text}\n" for reference in references)


def _check_count(service: Service, ids: list[str]) -> None:
    most = service.settings.limits.papers
    if len(ids) > most:
        raise InputError(f"at most {most} papers at a time, got {len(ids)}", where="id")
