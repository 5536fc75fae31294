from __future__ import annotations

import json
from http import HTTPStatus

import pytest

from cocite_serve.http.metrics import REASON
from cocite_serve.http.problem_body import MEDIA_TYPE, phrase, problem
from cocite_serve.http.schemas import Problem


def test_a_problem_has_what_rfc_9457_names_and_its_request() -> None:
    scope = {"type": "http", "path": "/v1/papers/é x", "headers": [(b"x-request-id", b"a#b")]}
    response = problem(scope, 429, "Wait.", headers={"Retry-After": "3"}, reason="rate")
    told = json.loads(response.body)
    assert Problem.model_validate(told).model_dump() == told
    assert told == {
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": 429,
        "detail": "Wait.",
        "instance": "/v1/papers/%C3%A9%20x#a%23b",
        "error": "Wait.",
        "field": None,
        "reason": "rate",
        "request_id": "a#b",
    }
    assert response.headers["content-type"] == MEDIA_TYPE == "application/problem+json"
    assert (response.headers["retry-after"], response.headers["x-request-id"]) == ("3", "a#b")
    assert scope[REASON] == "rate", "metrics count it as that"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 500, 503, 504])
def test_every_status_has_its_words(status: int) -> None:
    assert phrase(status)
    if status not in (413, 422):
        assert phrase(status) == HTTPStatus(status).phrase
