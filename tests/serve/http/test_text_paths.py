"""``/v1/rerank`` and ``/v1/embed`` over stages in this process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.api_backend import InProcess, client

from cocite.protocols import Query
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.release_names import find_release
from cocite_serve.http.text_work import EmbedWork

CONTEXT = "parsing of trees as in [CIT]"
TEXTS = ["trees of words", "machine translation", "vectors"]


def logits(reader: InProcess, context: str) -> Any:
    cross_encoder: Any = reader.recommender.second.cross_encoder
    pairs = cross_encoder.text_pairs(Query("q", context=context), TEXTS)
    return cross_encoder.read([(pairs, slice(None))])[0]


def test_texts_come_in_the_order_of_the_cross_encoder(reader: InProcess) -> None:
    answer = client(reader).post("/v1/rerank", json={"context": CONTEXT, "texts": TEXTS, "raw_scores": True})
    assert answer.status_code == 200, answer.text
    found, expected = answer.json(), logits(reader, "parsing of trees as in TARGETCIT")
    assert found["scored_by"] == "cross-encoder"
    assert [result["index"] for result in found["results"]] == np.argsort(-expected).tolist()
    for result in found["results"]:
        assert result["score"] == pytest.approx(float(expected[result["index"]]), abs=1e-5)
    shares = client(reader).post("/v1/rerank", json={"context": CONTEXT, "texts": TEXTS}).json()["results"]
    assert [result["index"] for result in shares] == [result["index"] for result in found["results"]]
    assert all(0 < result["score"] < 1 for result in shares)


def test_papers_are_scored_and_may_repeat(reader: InProcess) -> None:
    ids = reader.recommender.index.corpus.ids([3, 90, 3])
    answer = client(reader).post("/v1/rerank", json={"context": CONTEXT, "ids": ids})
    results = answer.json()["results"]
    assert sorted(result["index"] for result in results) == [0, 1, 2]
    scores = {result["index"]: result["score"] for result in results}
    assert scores[0] == scores[2]
    assert all(result["id"] == ids[result["index"]] for result in results)
    by_stage = client(reader).post("/v1/rerank", json={"title": "Parsing", "ids": ids[:2]}).json()
    assert by_stage["scored_by"] != "cross-encoder"
    assert [result["score"] for result in by_stage["results"]] == sorted(
        (result["stages"][by_stage["scored_by"]] for result in by_stage["results"]), reverse=True
    )


@pytest.mark.parametrize(
    ("path", "body", "status", "error"),
    [
        ("rerank", {"context": CONTEXT}, 422, "ids: give either ids or texts."),
        (
            "rerank",
            {"context": CONTEXT, "ids": ["a"], "texts": ["b"]},
            422,
            "ids: give either ids or texts, not both.",
        ),
        ("rerank", {"texts": ["b"]}, 422, "Give a title and abstract"),
        ("rerank", {"context": CONTEXT, "ids": ["nobody"]}, 404, "No paper has the id 'nobody'."),
        (
            "rerank",
            {"context": CONTEXT, "texts": ["b"] * 201},
            422,
            "texts: at most 200 are allowed, got 201.",
        ),
        (
            "rerank",
            {"context": CONTEXT, "texts": ["b" * 301]},
            422,
            "texts: a text may have at most 300 characters",
        ),
        (
            "rerank",
            {"title": "x", "texts": ["b"]},
            422,
            "texts: the cross-encoder that is served reads a context",
        ),
        (
            "rerank",
            {"context": CONTEXT, "texts": ["ab " * 99], "truncate": False},
            422,
            "texts: text 0 and the query",
        ),
        ("embed", {}, 422, "ids: give either ids or texts."),
        (
            "embed",
            {"texts": ["b"], "encoder": "hatten"},
            422,
            "encoder: no encoder that is served is called 'hatten'",
        ),
        ("embed", {"ids": ["nobody"]}, 404, "No paper has the id 'nobody'."),
        ("embed", {"texts": ["b " * 99], "truncate": False}, 422, "texts: a text has 101 tokens"),
        (
            "embed",
            {"texts": [{"abstract": "b" * 301}]},
            422,
            "texts.0: a text may have at most 300 characters",
        ),
    ],
)
def test_what_cannot_be_done_is_said(
    reader: InProcess, path: str, body: dict[str, Any], status: int, error: str
) -> None:
    answer = client(reader).post(f"/v1/{path}", json=body)
    assert (answer.status_code, answer.json()["error"][: len(error)]) == (status, error)


def test_a_model_without_readers_refuses_texts(backend: InProcess) -> None:
    answer = client(backend).post("/v1/rerank", json={"context": CONTEXT, "texts": TEXTS})
    assert (answer.status_code, answer.json()["field"]) == (422, "texts")
    assert "has no cross-encoder" in answer.json()["error"]
    answer = client(backend).post("/v1/embed", json={"texts": TEXTS})
    assert (answer.status_code, answer.json()["field"]) == (422, "encoder")


def test_vectors_of_texts_are_the_encoders(reader: InProcess) -> None:
    texts = [
        "Parsing",
        {"title": "Trees", "abstract": "of words"},
        CONTEXT,
        {"context": "words as in [CIT]"},
        "",
    ]
    found = client(reader).post("/v1/embed", json={"texts": texts}).json()
    queries = [
        Query("q", title="Parsing"),
        Query("q", title="Trees", abstract="of words"),
        Query("q", context="parsing of trees as in TARGETCIT"),
        Query("q", context="words as in TARGETCIT"),
        Query("q"),
    ]
    encoder = reader.recommender.first.signals.encoders["sentence"].encoder
    np.testing.assert_allclose(found["vectors"], encoder.encode_queries(queries), atol=1e-5)
    assert (found["encoder"], found["dimension"]) == ("sentence", 32)


def test_vectors_of_papers_are_the_indexs(reader: InProcess) -> None:
    index = reader.recommender.index
    found = client(reader).post("/v1/embed", json={"ids": index.corpus.ids([9, 2])}).json()
    np.testing.assert_allclose(found["vectors"], index.paper_vectors("sentence")[[9, 2]], atol=1e-6)


def test_the_release_that_is_named_embeds_and_scores(reader: InProcess) -> None:
    class Other(InProcess):
        """A second release, whose papers and vectors tell it from the served one."""

        def __init__(self) -> None:
            super().__init__(reader.recommender)
            self.index_version = "000009"

        async def embed(self, work: EmbedWork, deadline: Deadline) -> Any:
            return -(await super().embed(work, deadline))

    class Both(InProcess):
        def chosen(self, release: str | None, _: str) -> InProcess:
            return Other() if find_release(release, self, Other()) == "beside" else self

    served = client(Both(reader.recommender))
    embed = [
        served.post("/v1/embed", json={"texts": ["parsing"], **named}).json()
        for named in ({}, {"release": "served"}, {"release": "000009"})
    ]
    assert [answer["index_version"] for answer in embed] == [reader.index_version] * 2 + ["000009"]
    np.testing.assert_allclose(embed[2]["vectors"], -np.array(embed[0]["vectors"]), atol=1e-5)
    rerank = {"context": "parsing as in [CIT]", "texts": ["trees"]}
    assert served.post("/v1/rerank", json=rerank | {"release": "beside"}).json()["index_version"] == "000009"
    for path, body in (("/v1/rerank", rerank), ("/v1/embed", {"texts": ["parsing"]})):
        refused = served.post(path, json=body | {"release": "other"})
        assert (refused.status_code, refused.json()["field"]) == (422, "release")
