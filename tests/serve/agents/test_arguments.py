from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from cocite.config import Settings
from cocite.errors import ConfigError
from cocite_serve.agents.arguments import (
    BibtexArguments,
    ExplainArguments,
    FillGapsArguments,
    RecommendArguments,
)

REFUSED: list[tuple[type[Settings], dict[str, Any], str]] = [
    (RecommendArguments, {"top_k": 51}, "top_k: input should be less than or equal to 50, got 51"),
    (RecommendArguments, {"text": "x" * 100_001}, "text: string should have at most 100000 characters"),
    (RecommendArguments, {"title": "x" * 1_001}, "title: string should have at most 1000 characters"),
    (RecommendArguments, {"abstract": "x" * 20_001}, "abstract: string should have at most 20000"),
    (RecommendArguments, {"year": 99}, "year: input should be greater than or equal to 1000"),
    (RecommendArguments, {"exclude": ["a"] * 501}, "exclude: list should have at most 500 items"),
    (RecommendArguments, {"exclude": ["a" * 513]}, r"exclude.0: string should have at most 512 characters"),
    (RecommendArguments, {"limit": 5}, "unknown key 'limit'"),
    (FillGapsArguments, {}, "the key 'text' is missing"),
    (FillGapsArguments, {"text": "a [CIT]", "top_k": 11}, "top_k: input should be less than or equal to 10"),
    (ExplainArguments, {"title": "a"}, "the key 'id' is missing"),
    (BibtexArguments, {"ids": []}, "ids: list should have at least 1 item"),
    (BibtexArguments, {"ids": ["a"] * 201}, "ids: list should have at most 200 items"),
    (BibtexArguments, {"ids": ["a"], "cite_keys": "a" * 201}, "cite_keys: string should have at most 200"),
]


@pytest.mark.parametrize(("takes", "arguments", "sentence"), REFUSED)
def test_arguments_above_a_limit_are_refused_by_class_and_schema(
    takes: type[Settings], arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=rf"^tool: {sentence}"):
        takes.parse(arguments, where="tool")
    with pytest.raises(
        jsonschema.ValidationError, match="too |is greater|is less|is a required|was unexpected|non-empty"
    ):
        jsonschema.validate(arguments, takes.model_json_schema())


def test_every_argument_is_described_in_the_schema() -> None:
    for takes in (RecommendArguments, FillGapsArguments, ExplainArguments, BibtexArguments):
        schema = takes.model_json_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        assert all(field["description"] for field in schema["properties"].values())
