"""The request and the lines of a draft."""

from __future__ import annotations

import jsonschema
import pytest
from helpers.api_backend import LIMITS, InProcess, client
from pydantic import TypeAdapter, ValidationError

from cocite_serve.http.draft_schemas import DraftEnd, DraftFile, DraftLine, DraftRequest


def test_a_line_is_known_by_its_kind() -> None:
    end = DraftEnd(answered=1, empty=0, refused=0)
    assert TypeAdapter(DraftLine).validate_json(end.model_dump_json()) == end
    with pytest.raises(ValidationError, match="kind"):
        TypeAdapter(DraftLine).validate_python({"kind": "other"})


def test_the_examples_are_requests() -> None:
    schema = DraftRequest.model_json_schema()
    for example in schema["examples"]:
        jsonschema.validate(example, schema)
        assert DraftRequest.model_validate(example).files


def test_a_file_has_one_content() -> None:
    assert DraftFile(name="a.txt", text="").text == ""
    with pytest.raises(ValidationError, match="give either text or base64"):
        DraftFile(name="a.txt")


def test_the_description_has_the_limits_in_force_and_the_lines(backend: InProcess) -> None:
    description = client(backend).get("/openapi.json").json()
    request = description["components"]["schemas"]["DraftRequest"]["properties"]
    assert request["top_k"]["anyOf"][0]["maximum"] == LIMITS.top_k
    assert request["authors"]["maxItems"] == LIMITS.exclude
    lines = description["paths"]["/v1/draft"]["post"]["responses"]["200"]["content"]
    assert list(lines) == ["application/x-ndjson"]
    kinds = {one["$ref"].rpartition("/")[2] for one in lines["application/x-ndjson"]["schema"]["oneOf"]}
    every = {"DraftHead", "GapLine", "SuggestionLine", "DraftEnd"}
    assert kinds == every <= description["components"]["schemas"].keys()
    body = description["paths"]["/v1/draft"]["post"]["requestBody"]
    assert body["content"]["application/json"]["schema"]["$ref"].endswith("/DraftRequest")
    assert "DraftFile" in description["components"]["schemas"]
