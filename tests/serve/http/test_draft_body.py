"""The body of a draft: what it costs to refuse one is bounded."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json

from cocite.errors import InputError
from cocite_serve.http.draft_body import parse_draft
from cocite_serve.http.draft_schemas import DraftFinishRequest, DraftRequest

JSON = "application/json"
FILES = [{"name": "a.txt", "text": "We [CIT]."}]


@pytest.mark.parametrize("kind", [JSON, "Application/JSON; charset=utf-8", "application/vnd.draft+json"])
def test_a_request(kind: str) -> None:
    request = parse_draft(to_json({"files": FILES, "top_k": 7}), kind, 10, DraftRequest)
    assert (request.files[0].text, request.top_k) == ("We [CIT].", 7)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"", JSON, "the body is not valid JSON: "),
        (b"{", JSON, "the body is not valid JSON: "),
        (b'{"files": "\xff"}', JSON, "the body is not valid JSON: "),
        (b'{"bib": "\\ud800"}', JSON, "the body is not valid JSON: "),
        (b"[" * 100_000, JSON, "the body is not valid JSON: "),
        (b"[]", JSON, "the body must be a JSON object"),
        (to_json({"files": FILES}), "text/plain", "the body must be a JSON object"),
        (to_json({"files": FILES}), "", "the body must be a JSON object"),
    ],
)
def test_what_is_no_object(body: bytes, kind: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        parse_draft(body, kind, 10, DraftRequest)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"files": FILES, "exclude": [1] * 200_000}, "exclude: at most 10 values are allowed, got 200,000"),
        (
            {"files": FILES, "weights": {str(number): "x" for number in range(200_000)}},
            "weights: at most 10 values",
        ),
        ({"files": [1] * 200_000}, "files: at most 10 values"),
        ({str(number): 1 for number in range(200_000)}, "the body may have at most 100 fields, got 200,000"),
        (
            {"files": [*FILES, {str(number): 1 for number in range(200_000)}]},
            r"files\.1: at most 100 fields",
        ),
    ],
)
def test_many_wrong_values_are_refused_without_an_error_for_each(value: Any, message: str) -> None:
    body = to_json(value)
    tracemalloc.start()
    with pytest.raises(InputError, match=f"^{message}"):
        parse_draft(body, JSON, 10, DraftRequest)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 << 20  # the errors of 200,000 values alone take more than 100 MiB


@pytest.mark.parametrize(
    "chosen",
    [[{"gap": 1, "papers": [1] * 200_000}], [{"gap": 1, "papers": [1] * 5} for _ in range(10)]],
)
def test_many_wrong_values_within_a_list_are_refused_at_once(chosen: Any) -> None:
    body = to_json({"files": FILES, "chosen": chosen})
    with pytest.raises(InputError, match="^chosen: at most 10 values within it are allowed"):
        parse_draft(body, JSON, 10, DraftFinishRequest)


def test_a_wrong_field_is_told_as_of_any_request() -> None:
    wrong = to_json({"files": FILES, "top_k": "many"})
    with pytest.raises(RequestValidationError, check=lambda error: error.errors()[0]["loc"] == ("top_k",)):
        parse_draft(wrong, JSON, 10, DraftRequest)
