"""The paths ``/v1/recommend`` and ``/v1/recommend/batch``.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response

from cocite_serve.http.batch import JSON, NDJSON, Batch, LineResponse, parse_batch
from cocite_serve.http.openapi import refusals
from cocite_serve.http.recommending import recommend as recommend_one
from cocite_serve.http.schemas import BatchLine, RecommendRequest, RecommendResponse
from cocite_serve.http.service import Service

REQUEST = {"$ref": "#/components/schemas/RecommendRequest"}


def recommend_router(app: FastAPI, service: Service) -> APIRouter:
    """The two paths over a service; the application's handlers of errors refuse a batch's requests too."""
    router = APIRouter(tags=["recommend"])
    limits = service.settings.limits

    @router.post(
        "/v1/recommend",
        summary="Recommend papers to cite",
        responses=refusals(410, 422, 504),
        response_model=RecommendResponse,
    )
    async def recommend(request: RecommendRequest) -> Response:
        response = await recommend_one(service, request)
        # Already of its type: writing it here saves a second validation of twenty papers.
        return Response(response.model_dump_json(), media_type=JSON)

    content: dict[str, Any] = {
        # An item of any other form is refused in its own line.
        JSON: {
            "schema": {
                "type": "array",
                "items": {"anyOf": [REQUEST, {}]},
                "minItems": 1,
                "maxItems": limits.batch,
            }
        },
        NDJSON: {"schema": {"type": "string", "description": "One `RecommendRequest` a line."}},
    }

    @router.post(
        "/v1/recommend/batch",
        summary="Recommend papers for many texts",
        description=f"Up to {limits.batch} requests, each as for `/v1/recommend`, are answered one a line as soon as "
        "each is done: `index` says which one it is, `status` what it would be answered alone, and `answer` or "
        "`problem` is that body.",
        responses={
            200: {"content": {NDJSON: {"schema": {"$ref": "#/components/schemas/BatchLine"}}}},
            **refusals(415, 422),
        },
        response_class=LineResponse,
        response_model=BatchLine,
        openapi_extra={"requestBody": {"required": True, "content": content}},
    )
    async def batch(request: Request) -> LineResponse:
        values = parse_batch(await request.body(), request.headers.get("content-type", ""), limits.batch)
        answers = Batch(app, request, lambda one: recommend_one(service, one), limits.batch_at_once)
        return LineResponse(answers.lines(values))

    return router
