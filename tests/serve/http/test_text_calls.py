"""Models that a request needs, plain texts as queries, and scores of given papers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from helpers.api_backend import InProcess
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cocite.errors import NotFoundError
from cocite.protocols import Query, Ranking
from cocite_serve.http import text_calls
from cocite_serve.http.metrics import GatewayMetrics
from cocite_serve.http.service import Service
from cocite_serve.http.text_work import CrossEncoderFacts, EncoderFacts, ModelFacts
from cocite_serve.settings import ServeSettings

ENCODER = EncoderFacts("sentence", "1", 8, None, encodes_papers=True)
READER = CrossEncoderFacts("1", "local", 512, 1024, "fp32")


def test_a_model_without_what_is_needed_says_so() -> None:
    full = ModelFacts((ENCODER,), READER)
    assert text_calls.require_cross_encoder(full, "local") == READER
    assert text_calls.require_encoder(full) == text_calls.require_encoder(full, "sentence") == ENCODER
    for facts, kind, message in (
        (ModelFacts(), None, "has no cross-encoder, which alone can score texts"),
        (full, "global", r"reads a context or text with \[CIT\], and the query is a title and abstract"),
    ):
        with pytest.raises(text_calls.NoModelError, match=message):
            text_calls.require_cross_encoder(facts, kind)
    for facts, name, message in (
        (ModelFacts(), None, "has no encoder whose vectors the index holds"),
        (full, "sentense", "no encoder that is served is called 'sentense' .*'sentence'"),
    ):
        with pytest.raises(text_calls.NoModelError, match=message):
            text_calls.require_encoder(facts, name)


def test_a_plain_text_is_a_query_of_the_kind_that_is_read() -> None:
    assert text_calls.query_of("Parsing") == Query("text", title="Parsing")
    assert text_calls.query_of("") == Query("text")
    assert text_calls.query_of("as in [CIT].") == Query("text", context="as in TARGETCIT.")
    assert text_calls.query_of("Parsing", "local") == Query("text", context="Parsing")


@given(arrays.arrays(np.float32, 9, elements=st.floats(-1e3, 1e3, width=32)))
def test_relevance_is_the_sigmoid(logits: np.ndarray) -> None:
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-logits.astype(np.float64)))
    np.testing.assert_allclose(text_calls.relevance(logits), expected, atol=1e-12)


def score(backend: InProcess, query: Query, rows: list[int]) -> text_calls.PaperScores:
    service = Service(lambda: backend, ServeSettings(index=Path("unused")), GatewayMetrics())
    return asyncio.run(text_calls.score_papers(service, backend, query, rows, None))


def test_given_papers_are_scored_by_the_cross_encoder_where_it_reads_such_queries(reader: InProcess) -> None:
    query, rows = Query("q", context="parsing as in TARGETCIT"), [40, 3, 200]
    found = score(reader, query, rows)
    assert found.scored_by == "cross-encoder"
    cross_encoder = reader.recommender.second.cross_encoder
    assert cross_encoder is not None
    [expected] = cross_encoder.score(
        [query], Ranking(np.array([rows], np.int32), np.zeros((1, 3), np.float32))
    )
    scores = {paper.row: paper.stages["cross-encoder"] for paper in found.papers}
    np.testing.assert_allclose([scores[row] for row in rows], expected, atol=1e-5)


def test_without_one_they_have_the_scores_of_the_stage_before(reader: InProcess, backend: InProcess) -> None:
    query = Query("q", title="parsing", year=1990)
    for served in (reader, backend):
        found = score(served, query, [7, 7, 21])
        assert found.scored_by in found.papers[0].stages
        assert found.scored_by != "cross-encoder"
        assert sorted(paper.row for paper in found.papers) == [7, 21], "later papers too"


def test_an_id_that_is_not_there_is_named(backend: InProcess) -> None:
    known = backend.recommender.index.corpus.ids([5])[0]
    assert text_calls.rows_of(backend, [known]) == [5]
    with pytest.raises(NotFoundError, match="ids: no paper has the id 'nobody'"):
        text_calls.rows_of(backend, [known, "nobody"])
