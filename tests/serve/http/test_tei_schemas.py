"""The requests of text-embeddings-inference, as its clients send them."""

from __future__ import annotations

from cocite_serve.http.tei_schemas import TeiEmbedRequest, TeiRerankRequest


def test_fields_that_are_not_read_are_let_through() -> None:
    body = {"query": "q", "texts": ["a"], "truncation_direction": "left"}
    assert TeiRerankRequest.model_validate(body).texts == ["a"]
    one = TeiEmbedRequest.model_validate({"inputs": "a", "truncate": None, "prompt_name": "query"})
    assert (one.inputs, one.truncate, one.normalize) == ("a", None, True)
