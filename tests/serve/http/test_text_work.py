"""What is asked of the stages, and what they say of their models."""

from __future__ import annotations

from cocite.protocols import Query
from cocite_serve.http.text_work import EmbedWork, EncoderFacts, ModelFacts


def facts(name: str) -> EncoderFacts:
    return EncoderFacts(name, "1", 8, None, encodes_papers=False)


def test_a_work_has_as_many_items_as_texts_or_papers() -> None:
    assert EmbedWork("sentence", (Query("q", title="x"),)).items == 1
    assert EmbedWork("sentence", rows=(4, 4, 2)).items == 3


def test_the_sentence_encoder_is_the_default() -> None:
    assert ModelFacts((facts("nnselect"), facts("sentence"))).default_encoder == facts("sentence")
    assert ModelFacts((facts("nnselect"), facts("hatten"))).default_encoder == facts("nnselect")
    assert ModelFacts().default_encoder is None
