from __future__ import annotations

import pytest
from helpers.api_backend import InProcess, client
from pydantic import ValidationError

from cocite_serve.http.schemas import GAP_EXAMPLE, RecommendRequest


def test_the_depth_has_two_names(backend: InProcess) -> None:
    request = {"title": "Neural machine translation", "top_k": 30}
    for name in ("K", "depth"):
        assert len(client(backend).post("/v1/recommend", json={**request, name: 7}).json()["papers"]) == 7


def test_the_schema_says_what_a_manuscripts_year_does(backend: InProcess) -> None:
    schema = client(backend).get("/openapi.json").json()["components"]["schemas"]["RecommendRequest"]
    field = schema["properties"]["candidates"]
    assert (field["enum"], field["default"]) == (["older", "all"], "older")
    assert "only papers of that year or earlier" in field["description"]
    assert "`candidates` or `year_to`" in schema["properties"]["year"]["description"]


def test_the_documentation_shows_no_python(backend: InProcess) -> None:
    schemas = client(backend).get("/openapi.json").json()["components"]["schemas"]
    descriptions = [schema.get("description", "") for schema in schemas.values()]
    assert any(descriptions)
    assert not any(">>>" in text or "\f" in text for text in descriptions)


def test_texts_are_stripped_and_unknown_fields_refused() -> None:
    assert RecommendRequest(title="  x \n").title == "x"
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        RecommendRequest.model_validate({"titel": "x"})
    for year in (999, 3000):
        with pytest.raises(ValidationError, match="year"):
            RecommendRequest(title="x", year=year)


def test_the_documented_examples_are_answered(backend: InProcess) -> None:
    examples = RecommendRequest.model_config["json_schema_extra"]["examples"]  # type: ignore[index, call-overload]
    assert examples[0]["context"] == GAP_EXAMPLE
    for example in examples:
        answer = client(backend).post("/v1/recommend", json=example)
        assert len(answer.json()["papers"]) == example["top_k"]
