"""Evidence has the fields of the endpoint's answers, so that an answer is made of it as it is."""

from __future__ import annotations

from dataclasses import asdict, fields

from cocite.pipeline.evidence import CitingPaper, CitingSentence, Evidence, SharedWord
from cocite_serve.http import schemas


def test_an_answer_is_made_of_it() -> None:
    citing = CitingPaper("P1", "A survey", None)
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
    answer = schema.model_validate(parts)
    assert answer.model_dump() == parts
    assert schema.model_validate({name: [] for name in parts}).model_dump() == asdict(Evidence()) | {
        name: [] for name in parts
    }
