from __future__ import annotations

import jsonschema
import pytest

from cocite_serve.agents.answers import (
    Bibliography,
    CitationKey,
    Explanation,
    FilledGap,
    FilledGaps,
    Paper,
    RankedPaper,
    Recommended,
)
from cocite_serve.http.schemas import EvidenceOut

VERSIONS = {"model_version": "", "index_version": "000001"}
PAPER = Paper(id="P02-1040", title="BLEU", in_citations=9)
RANKED = RankedPaper(id="P02-1040", title="BLEU", in_citations=9, rank=1, score=3.5, evidence=EvidenceOut())


@pytest.mark.parametrize(
    "answer",
    [
        Recommended(read_as="context", papers=[RANKED], **VERSIONS),
        FilledGaps(gaps=[FilledGap(gap=0, context="BLEU TARGETCIT", papers=[RANKED])], **VERSIONS),
        Explanation(paper=PAPER, rank=None, of=300, evidence=EvidenceOut(), **VERSIONS),
        Bibliography(bibtex="@misc{a}", keys=[CitationKey(id="P02-1040", key="a")]),
    ],
)
def test_an_answer_fits_the_schema_that_its_tool_lists(answer: Recommended) -> None:
    schema = type(answer).model_json_schema(mode="serialization")
    jsonschema.validate(answer.model_dump(mode="json"), schema)
    assert schema["type"] == "object"
    with pytest.raises(jsonschema.ValidationError, match="is a required property"):
        jsonschema.validate({}, schema)
