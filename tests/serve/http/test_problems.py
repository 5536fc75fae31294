"""What is refused, and in which words."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from fastapi import FastAPI
from helpers.api_backend import LIMITS, InProcess, client
from starlette.testclient import TestClient

from cocite.errors import CociteError, InputError, NotFoundError
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_serve.http.full_notes import FULL_HEADER
from cocite_serve.http.problems import (
    FAILED,
    STATUS_DESCRIPTIONS,
    NotReadyError,
    OverloadedError,
    TooSlowError,
    add_handlers,
    check_limits,
)
from cocite_serve.http.schemas import Problem, RecommendRequest
from cocite_serve.settings import ServeSettings


@pytest.mark.parametrize(
    ("request_", "error", "field"),
    [
        ({}, "Give a title and abstract, or a text with the gap marked [CIT].", None),
        ({"title": "x" * 101}, "title: at most 100 characters are allowed, got 101.", "title"),
        ({"abstract": "x" * 201}, "abstract: at most 200 characters are allowed, got 201.", "abstract"),
        ({"context": "x" * 301}, "context: at most 300 characters are allowed, got 301.", "context"),
        ({"text": "x" * 301}, "text: at most 300 characters are allowed, got 301.", "text"),
        ({"title": "x", "top_k": 31}, "top_k: at most 30 is allowed, got 31.", "top_k"),
        ({"title": "x", "top_k": 0}, "top_k: input should be greater than or equal to 1.", "top_k"),
        ({"title": "x", "K": 101}, "K: at most 100 is allowed, got 101.", "K"),
        ({"title": "x", "rerank": 21}, "rerank: at most 20 is allowed, got 21.", "rerank"),
        ({"title": "x", "exclude": list("abcd")}, "exclude: at most 3 values are allowed, got 4.", "exclude"),
        ({"title": "x", "exclude": ["y" * 101]}, "exclude: a value may have at most 100 characters.", "exclude"),
        ({"title": "x", "authors": list("abcd")}, "authors: at most 3 values are allowed, got 4.", "authors"),
        ({"title": "x", "year_from": 99999}, "year_from: input should be less than or equal to 2999.", "year_from"),
        ({"title": "x", "year_from": 2010, "venue": 2}, "venue: input should be a valid string.", "venue"),
        ({"title": "x", "year_from": 2010, "year_to": 2009}, "year_from: 2010 is later than year_to, 2009.",
         "year_from"),
        ({"title": "x", "year": 2009, "year_from": 2010},
         "year_from: 2010 is later than the manuscript's year, 2009; give year_to, or candidates: all.", "year_from"),
        ({"title": "x", "candidates": "newer"}, "candidates: input should be 'older' or 'all'.", "candidates"),
        ({"titel": "x"}, "titel: there is no such field (did you mean 'title'?).", "titel"),
        ({"title": 3}, "title: input should be a valid string.", "title"),
        ([], "The body must be a JSON object, sent as Content-Type: application/json.", None),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(backend: InProcess, request_: Any, error: str, field: str | None) -> None:
    answer = client(backend).post("/v1/recommend", json=request_)
    told = answer.json()
    assert (answer.status_code, told["error"], told["field"]) == (422, error, field)
    assert answer.headers["content-type"] == "application/problem+json"


def test_bodies_that_are_not_json(backend: InProcess) -> None:
    plain = client(backend).post("/v1/recommend", content=b"title=x")
    assert plain.status_code == 422
    assert "must be a JSON object" in plain.json()["error"]
    broken = client(backend).post(
        "/v1/recommend", content=b'{"title":', headers={"Content-Type": "application/json"}
    )
    assert broken.status_code == 422
    assert broken.json()["error"].startswith("The body is not valid JSON")


@pytest.mark.parametrize(
    ("field", "most", "value"),
    [
        ("title", LIMITS.title_chars, "x"),
        ("abstract", LIMITS.abstract_chars, "x"),
        ("context", LIMITS.text_chars, "x"),
        ("text", LIMITS.text_chars, "x"),
        ("venue", LIMITS.title_chars, "x"),
        ("exclude", LIMITS.exclude, ["a"]),
        ("exclude_authors", LIMITS.exclude, ["a"]),
        ("authors", LIMITS.exclude, ["a"]),
    ],
)
def test_a_limit_may_be_reached_and_not_exceeded(field: str, most: int, value: Any) -> None:
    check_limits(RecommendRequest.model_validate({field: value * most}), LIMITS)
    with pytest.raises(InputError, match=f"{field}: at most {most}"):
        check_limits(RecommendRequest.model_validate({field: value * (most + 1)}), LIMITS)


@pytest.mark.parametrize(
    ("error", "status", "sentence", "retry"),
    [
        (NotFoundError("no such paper", where="id"), 404, "No such paper.", None),
        (InputError("it does not fit", where="gap"), 422, "gap: it does not fit.", None),
        (CociteError("/secret/path: damaged"), 500, FAILED, None),
        (OverloadedError(), 429, "Too many requests are waiting; try again in 2 seconds.", "2"),
        (OverloadedError("x", 6.2), 429, "Too many requests are waiting; try again in 7 seconds.", "7"),
        (OverloadedError("x", 0.2), 429, "Too many requests are waiting; try again in 1 second.", "1"),
        (NotReadyError("no stages are loaded"), 503, "No stages are loaded.", "2"),
        (
            ShardsUnavailableError.of({2: "its process ended"}, 8),
            503,
            "Shard 3 of 8 did not answer: its process ended.",
            "2",
        ),
        (
            TooSlowError(20),
            504,
            "The request took longer than 20 s; a smaller depth or rerank is faster.",
            None,
        ),
        (ZeroDivisionError("a defect"), 500, FAILED, None),
    ],
)
def test_each_error_has_a_status_and_a_sentence(
    error: Exception, status: int, sentence: str, retry: str | None
) -> None:
    app = FastAPI()
    add_handlers(app, ServeSettings(index="unused", retry_after_s=2))

    @app.get("/")
    async def failing() -> None:
        raise error

    answer = TestClient(app, raise_server_exceptions=False).get("/")
    assert (answer.status_code, answer.json()["error"]) == (status, sentence)
    assert answer.headers.get("retry-after") == retry
    assert status in STATUS_DESCRIPTIONS
    assert Problem.model_validate(answer.json()).status == status


def test_a_refusal_keeps_its_seconds_on_the_way_from_a_replica() -> None:
    error = copy.copy(OverloadedError("the reranker refused a request", 2.5, 0.5))  # as pickle copies it
    assert (str(error), error.retry_s, error.full_s) == ("the reranker refused a request", 2.5, 0.5)


@pytest.mark.parametrize(("full_s", "header"), [(0.25, "0.250"), (0.0, None)])
def test_a_refusal_tells_the_proxy_for_how_long_such_requests_are_refused(
    full_s: float, header: str | None
) -> None:
    app = FastAPI()
    add_handlers(app, ServeSettings(index="unused"))

    @app.get("/")
    async def failing() -> None:
        raise OverloadedError("x", 0.2, full_s)

    assert TestClient(app).get("/").headers.get(FULL_HEADER) == header


def test_a_defect_is_logged_under_the_requests_id_without_its_words(
    backend: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    async def recommend(query: Any, *_: object) -> Any:
        raise KeyError(query.title)

    backend.recommend = recommend  # type: ignore[method-assign]
    answer = client(backend).post(
        "/v1/recommend", json={"title": "unpublished"}, headers={"X-Request-ID": "5f0c"}
    )
    assert answer.json()["request_id"] == "5f0c"
    assert "request 5f0c failed: KeyError" in caplog.text
    assert "unpublished" not in caplog.text
