"""Papers of an answer that its author has."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.api_backend import LIMITS, InProcess, client

REQUEST = {"context": "The quality of translations is measured by BLEU [CIT].", "top_k": 5}


def test_papers_of_an_answer_are_marked(backend: InProcess) -> None:
    post = client(backend, limits=LIMITS.model_copy(update={"have": 3})).post

    def marks(**more: Any) -> dict[str, bool | None]:
        answer = post("/v1/recommend", json=REQUEST | more)
        assert answer.status_code == 200, answer.text
        return {paper["id"]: paper["in_library"] for paper in answer.json()["papers"]}

    plain = marks()
    assert set(plain.values()) == {None}
    marked = marks(have=["papineni2002bleu", "no-such-paper", "10.1/none"])
    assert marked == dict.fromkeys(plain, False) | {"papineni2002bleu": True}
    refused = post("/v1/recommend", json=REQUEST | {"have": ["a"] * 4})
    assert (refused.status_code, refused.json()["error"]) == (
        422,
        "have: at most 3 papers are allowed, got 4.",
    )
    long = post("/v1/recommend", json=REQUEST | {"have": ["a" * 1_000]})
    assert (long.status_code, long.json()["field"]) == (422, "have")


def test_each_request_of_a_batch_has_its_own(backend: InProcess) -> None:
    lines = client(backend).post("/v1/recommend/batch", json=[REQUEST, REQUEST | {"have": ["x"]}]).text
    assert '"in_library":null' in lines
    assert '"in_library":false' in lines


@pytest.mark.parametrize("schema", ["RecommendRequest", "DraftRequest"])
def test_the_limit_is_told(backend: InProcess, schema: str) -> None:
    schemas = client(backend).get("/openapi.json").json()["components"]["schemas"]
    assert schemas[schema]["properties"]["have"]["maxItems"] == LIMITS.have
