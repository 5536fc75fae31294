"""The API's description tells every status and the limits in force."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from helpers.api_backend import LIMITS, InProcess, client

from cocite_serve.http.openapi import ALWAYS, refusals
from cocite_serve.http.problem_body import MEDIA_TYPE


@pytest.fixture
def description(backend: InProcess) -> Any:
    return client(backend).get("/openapi.json").json()


def test_every_path_tells_what_any_path_may_answer(description: Any) -> None:
    operations = [(path, each) for path, methods in description["paths"].items() for each in methods.values()]
    assert len(operations) >= 13
    for path, operation in operations:
        missing = {str(status) for status in ALWAYS} - operation["responses"].keys()
        ours = path.startswith("/v1/")
        assert missing == (set() if ours else {"500"}), path
        for status, response in operation["responses"].items():
            assert response["description"], (path, status)
            if ours and status != "200":
                problem = {"$ref": "#/components/schemas/Problem"}
                assert response["content"][MEDIA_TYPE]["schema"] == problem, (path, status)


def test_no_path_tells_of_a_refusal_of_the_framework(description: Any) -> None:
    assert "ValidationError" not in str(description)
    assert "422" not in description["paths"]["/v1/papers/{id}"]["get"]["responses"]
    assert "422" in description["paths"]["/v1/bibtex"]["get"]["responses"]


def test_the_limits_in_force_are_told(description: Any) -> None:
    schemas = description["components"]["schemas"]
    request = schemas["RecommendRequest"]["properties"]
    assert request["title"]["maxLength"] == LIMITS.title_chars
    assert request["exclude"] == request["exclude"] | {"maxItems": LIMITS.exclude}
    assert request["exclude"]["items"]["maxLength"] == LIMITS.title_chars
    assert request["top_k"]["anyOf"][0]["maximum"] == LIMITS.top_k
    for schema in ("RecommendRequest", "DraftRequest"):
        for name in ("like", "dislike"):
            assert schemas[schema]["properties"][name]["maxItems"] == LIMITS.seeds
    assert schemas["RerankRequest"]["properties"]["texts"]["maxItems"] == LIMITS.texts
    assert schemas["DraftFinishRequest"]["properties"]["chosen"]["maxItems"] == LIMITS.draft_gaps
    assert schemas["GapChoice"]["properties"]["papers"]["items"]["maxLength"] == LIMITS.title_chars
    batch = description["paths"]["/v1/recommend/batch"]["post"]["requestBody"]["content"]
    assert batch["application/json"]["schema"]["maxItems"] == LIMITS.batch


def test_the_releases_that_a_request_may_name_are_told(description: Any) -> None:
    schemas = description["components"]["schemas"]
    for schema in ("RecommendRequest", "DraftRequest", "RerankRequest", "EmbedRequest"):
        names, null = schemas[schema]["properties"]["release"]["anyOf"]
        assert (names, null) == ({"type": "string", "maxLength": 200}, {"type": "null"})


def test_what_may_be_tried_again_says_when() -> None:
    found = refusals(504)
    assert {status for status, response in found.items() if "Retry-After" in response.get("headers", {})} == {
        429,
        503,
    }
    assert found[504]["description"] == "The request took longer than allowed."


def test_a_refusal_is_as_the_schema_says(backend: InProcess, description: Any) -> None:
    schema = description["components"]["schemas"]["Problem"]
    told = client(backend).post("/v1/recommend", json={"titel": "x"}).json()
    jsonschema.validate(told, schema)
    assert schema["properties"].keys() == told.keys()
