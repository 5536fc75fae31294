"""The paths ``/v1/draft``, ``/v1/draft/text`` and ``/v1/draft/finished``.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

from fastapi import APIRouter, FastAPI, Request

from cocite.drafts.limits import MAX_FILES
from cocite_serve.http.batch import JSON, NDJSON, LineResponse
from cocite_serve.http.body_limit import DRAFT_FINISHED_PATH, DRAFT_PATH, DRAFT_TEXT_PATH
from cocite_serve.http.draft_body import read_draft
from cocite_serve.http.draft_lines import DraftLines
from cocite_serve.http.draft_reading import DraftReader
from cocite_serve.http.draft_schemas import (
    MAX_CHOSEN,
    DraftFinishRequest,
    DraftLine,
    DraftRequest,
    Finished,
)
from cocite_serve.http.draft_text_schemas import DraftText, DraftTextRequest
from cocite_serve.http.openapi import refusals
from cocite_serve.http.request_context import current
from cocite_serve.http.service import Service

SCHEMAS = "#/components/schemas/"
REQUEST = {"$ref": f"{SCHEMAS}DraftRequest"}
TEXT_REQUEST = {"$ref": f"{SCHEMAS}DraftTextRequest"}
FINISH_REQUEST = {"$ref": f"{SCHEMAS}DraftFinishRequest"}
KINDS = {
    "draft": f"{SCHEMAS}DraftHead",
    "gap": f"{SCHEMAS}GapLine",
    "suggestion": f"{SCHEMAS}SuggestionLine",
    "end": f"{SCHEMAS}DraftEnd",
}
LINE = {
    "oneOf": [{"$ref": kind} for kind in KINDS.values()],
    "discriminator": {"propertyName": "kind", "mapping": KINDS},
}
"""The schema of one line of the answer."""


def draft_router(app: FastAPI, service: Service) -> APIRouter:
    """The paths over a service; the application's handlers of errors refuse a draft's gaps too."""
    router = APIRouter(tags=["recommend"])
    limits = service.settings.limits
    most = max(MAX_FILES, limits.exclude, limits.weights, limits.seeds, limits.have)
    most_chosen = max(MAX_FILES, MAX_CHOSEN * limits.draft_gaps)
    reader = DraftReader(service)

    @router.post(
        DRAFT_PATH,
        summary="Recommend papers for each gap of a draft",
        description="Reads a draft, or a LaTeX project, and answers a JSON value a line: first `draft`, what was read "
        f"and what it cites; then a `gap` for each of up to {limits.draft_gaps} gaps, as soon as it is done, and with "
        "`suggest` a `suggestion` for each sentence that seems to need a citation; at last "
        "`end`, what is usually cited together with what the draft cites, and with `finished` the draft with the best "
        "papers put in. What it cites is not recommended. Nothing of "
        f"the draft is kept. The body may have {limits.draft_bytes:,} bytes.",
        responses={200: {"content": {NDJSON: {"schema": LINE}}}, **refusals(422, 504)},
        response_class=LineResponse,
        response_model=DraftLine,
        openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": REQUEST}}}},
    )
    async def draft(request: Request) -> LineResponse:
        # Not by FastAPI, which would keep body and fields in memory until the last line is sent.
        asked = await read_draft(request, most, DraftRequest)
        context = current()
        backend = service.current().chosen(asked.release, asked.client or context.key or context.id)
        found = await reader.read(asked, backend.papers, backend.model)
        return LineResponse(DraftLines(app, request, service, asked, found, reader).all(backend))

    @router.post(
        DRAFT_TEXT_PATH,
        summary="The text of a draft",
        description="Reads a draft, or a LaTeX project, as `/v1/draft` does, and gives its text back, for a client "
        "that lets its author go on with it, what it cites, for the client to exclude, and with `together` what is "
        "usually cited with that, and with `suggest` sentences that seem to need a citation. The text may have "
        f"{limits.text_chars:,} characters. Nothing of it is kept.",
        responses=refusals(422, 504),
        openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": TEXT_REQUEST}}}},
    )
    async def text(request: Request) -> DraftText:
        asked = await read_draft(request, most, DraftTextRequest)
        backend = service.current()
        return await reader.text(asked, backend.papers, backend.model)

    @router.post(
        DRAFT_FINISHED_PATH,
        summary="A draft with the papers in its gaps that its author chose",
        description="Puts the papers of `chosen` into the gaps of a draft, or a LaTeX project, sent again: their keys, "
        "with a `.bib` of the new entries, or in a `.docx` citations as text, with references in its list. Gaps are "
        "numbered as in `/v1/draft`, and in the text of `/v1/draft/text`. Nothing of it is kept. The body may have "
        f"{limits.draft_bytes:,} bytes.",
        responses=refusals(422, 504),
        openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": FINISH_REQUEST}}}},
    )
    async def finished(request: Request) -> Finished:
        asked = await read_draft(request, most_chosen, DraftFinishRequest)
        return await reader.finish_chosen(asked, service.current().papers)

    return router
