"""The paths that give papers as references: BibTeX, RIS and CSL-JSON.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from cocite.corpus.bibtex import KeyForm
from cocite.corpus.references import FORMS, ReferenceForm
from cocite.errors import InputError
from cocite_serve.http.openapi import refusals
from cocite_serve.http.query_fields import KEY_FORMS
from cocite_serve.http.service import Service

Ids = Annotated[list[str], Query(description="Ids of papers.")]
CiteKeys = Annotated[KeyForm, Query(description=f"Form of keys: {KEY_FORMS}")]


def reference_router(service: Service) -> APIRouter:
    """The paths over a service, two for each form of references."""
    router = APIRouter(tags=["papers"])
    for path, form in FORMS.items():
        _add(router, service, path, form)
    return router


def _add(router: APIRouter, service: Service, path: str, form: ReferenceForm) -> None:
    most = service.settings.limits.papers
    schema: dict[str, Any] = {"type": "string"}
    if form.media_type.endswith("json"):
        schema = {"type": "array", "items": {"type": "object"}}
    answer: dict[int | str, dict[str, Any]] = {200: {"content": {form.media_type: {"schema": schema}}}}

    def written(ids: list[str], keys_as: KeyForm) -> Response:
        papers = service.current().papers.records(ids)
        return Response(form.text(papers, keys_as), media_type=form.media_type)

    @router.get(
        f"/v1/{path}",
        summary=f"Several papers as {form.name}, with keys that differ",
        operation_id=f"several_{path}",
        response_class=Response,
        responses={**answer, **refusals(404, 422)},
    )
    async def several(id: Ids, cite_keys: CiteKeys = "cocite") -> Response:
        if len(id) > most:
            raise InputError(f"at most {most} papers at a time, got {len(id)}", where="id")
        return written(id, cite_keys)

    # Ids may hold slashes (a DOI, an address), hence `:path`.
    @router.get(
        f"/v1/papers/{{id:path}}/{path}",
        summary=f"One paper as {form.name}",
        operation_id=f"one_{path}",
        response_class=Response,
        responses={**answer, **refusals(404, 422)},
    )
    async def one(id: str, cite_keys: CiteKeys = "cocite") -> Response:
        return written([id], cite_keys)
