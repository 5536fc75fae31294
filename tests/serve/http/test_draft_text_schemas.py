"""The request and the answer of a draft's text."""

from __future__ import annotations

import jsonschema
import pytest
from pydantic import ValidationError

from cocite_serve.http.draft_text_schemas import DraftText, DraftTextRequest, SuggestedSentence


def test_the_examples_are_requests() -> None:
    schema = DraftTextRequest.model_json_schema()
    for example in schema["examples"]:
        jsonschema.validate(example, schema)
        assert DraftTextRequest.model_validate(example).files


@pytest.mark.parametrize(
    "wrong", [{"top_k": 3}, {"suggest": -1}, {"suggest": 10_001}, {"suggest": True}, {"files": []}]
)
def test_what_does_not_fit_is_refused(wrong: dict[str, object]) -> None:
    request: dict[str, object] = {"files": [{"name": "a.txt", "text": "We parse trees."}]}
    [name] = wrong
    with pytest.raises(ValidationError, match=name):
        DraftTextRequest.model_validate(request | wrong)


def test_suggestions_stand_beside_the_text() -> None:
    one = SuggestedSentence(file="a.txt", line=1, sentence="Trees help.", probability=0.6)
    text = DraftText(file="a.txt", form="text", gaps=0, text="Trees help.", suggestions=[one])
    assert DraftText.model_validate_json(text.model_dump_json()) == text
