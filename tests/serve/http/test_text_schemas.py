"""Requests of reranking and embedding."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from cocite_serve.http.text_schemas import EmbedRequest, EmbedText, RerankRequest


def test_a_text_is_plain_or_has_parts() -> None:
    request = EmbedRequest.model_validate(
        {"texts": [" Parsing ", {"title": "BLEU", "abstract": "A metric."}]}
    )
    assert request.texts == ["Parsing", EmbedText(title="BLEU", abstract="A metric.")]


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (EmbedRequest, {"texts": [3]}, "texts"),
        (EmbedRequest, {"texts": [{"titel": "x"}]}, "titel"),
        (EmbedRequest, {"texts": ["x"], "read_as": "author"}, "read_as"),
        (RerankRequest, {"title": "x", "ids": [""]}, "at least 1 character"),
        (RerankRequest, {"title": "x", "top_k": 3}, "Extra inputs are not permitted"),
    ],
)
def test_what_does_not_fit_is_refused(
    kind: type[EmbedRequest] | type[RerankRequest], body: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        kind.model_validate(body)
