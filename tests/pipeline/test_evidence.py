"""Evidence has the fields of the endpoint's answers, so that an answer is made of it as it is."""

from __future__ import annotations

import json
from dataclasses import asdict, fields

import pytest
from pydantic import ValidationError

from cocite.pipeline.evidence import MAX_AUTHORS, CitingPaper, CitingSentence, Evidence, SharedWord
from cocite_serve.http import schemas


def test_an_answer_is_made_of_it() -> None:
    citing = CitingPaper("P1", "A survey", None, ("Ada Lee", "Bo Kim"), "ACL", "10.1/x")
    evidence = Evidence(
        (SharedWord("tree", 2.5),),
        (citing,),
        (CitingSentence("As in TARGETCIT.", "P2", "A parser", 2018),),
        (CitingPaper("P3", "A seed", 2017),),
    )
    names = ["shared_words", "cited_by", "sentences", "seeds"]
    assert [field.name for field in fields(evidence)] == names
    [schema] = [
        model
        for model in vars(schemas).values()
        if isinstance(model, type) and set(getattr(model, "model_fields", {})) == set(asdict(evidence))
    ]
    parts = {name: [part._asdict() for part in getattr(evidence, name)] for name in names}
    parts = json.loads(json.dumps(parts))  # lists in place of tuples
    assert schema.model_validate(parts).model_dump() == parts
    crowd = parts | {"cited_by": [parts["cited_by"][0] | {"authors": ["A"] * (MAX_AUTHORS + 1)}]}
    with pytest.raises(ValidationError, match="at most 3 items"):
        schema.model_validate(crowd)
    assert schema.model_validate({name: [] for name in parts}).model_dump() == asdict(Evidence()) | {
        name: [] for name in parts
    }
