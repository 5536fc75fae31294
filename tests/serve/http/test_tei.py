"""The paths of text-embeddings-inference: its requests, answers, statuses and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.api_backend import InProcess, client

from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.http.text_work import EmbedWork

TEXTS = ["trees of words", "machine translation", "vectors"]


def test_texts_are_ranked_as_that_server_does(reader: InProcess) -> None:
    body = {"query": "parsing as in [CIT]", "texts": TEXTS, "raw_scores": True, "return_text": True}
    found = client(reader).post("/rerank", json=body).json()
    ours = client(reader).post(
        "/v1/rerank", json={"context": body["query"], "texts": TEXTS, "raw_scores": True}
    )
    assert [(rank["index"], rank["score"]) for rank in found] == [
        (result["index"], pytest.approx(result["score"], abs=1e-5)) for result in ours.json()["results"]
    ]
    assert [rank["text"] for rank in found] == [TEXTS[rank["index"]] for rank in found]
    plain = client(reader).post("/rerank", json={"query": "parsing", "texts": TEXTS}).json()
    assert sorted(rank["index"] for rank in plain) == [0, 1, 2]
    assert all(0 < rank["score"] < 1 for rank in plain)


@pytest.mark.parametrize("path", ["/embed", "/"])
def test_one_text_or_several_are_embedded(reader: InProcess, path: str) -> None:
    encoder = reader.recommender.first.signals.encoders["sentence"].encoder
    expected = encoder.encode_queries([Query("q", title=text) for text in TEXTS])
    served = client(reader)
    np.testing.assert_allclose(served.post(path, json={"inputs": TEXTS}).json(), expected, atol=1e-5)
    one = served.post(path, json={"inputs": TEXTS[0], "normalize": True, "truncate": True}).json()
    np.testing.assert_allclose(one, expected[:1], atol=1e-5)


def test_the_first_numbers_of_vectors_are_of_unit_length_unless_told_otherwise(reader: InProcess) -> None:
    served = client(reader)
    whole = np.array(served.post("/embed", json={"inputs": TEXTS}).json())
    raw = served.post("/embed", json={"inputs": TEXTS, "dimensions": 3, "normalize": False}).json()
    np.testing.assert_allclose(raw, whole[:, :3], atol=1e-5)
    cut = np.array(served.post("/embed", json={"inputs": TEXTS, "dimensions": 3}).json())
    np.testing.assert_allclose(cut, whole[:, :3] / np.linalg.norm(whole[:, :3], axis=1)[:, None], atol=1e-5)
    assert np.linalg.norm(whole[:, :3], axis=1).max() < 1


def test_a_document_is_read_as_papers_are(reader: InProcess) -> None:
    encoded: list[EmbedWork] = []

    class Watched(InProcess):
        async def embed(self, work: EmbedWork, deadline: Deadline) -> Any:
            encoded.append(work)
            return await super().embed(work, deadline)

    served = client(Watched(reader.recommender))
    for name in ("document", "query", None):
        assert served.post("/embed", json={"inputs": "a", "prompt_name": name}).status_code == 200
    assert [work.as_papers for work in encoded] == [True, False, False]


def test_what_is_served_is_told(reader: InProcess) -> None:
    info = client(reader).get("/info").json()
    assert info["model_type"].keys() == {"reranker"}
    assert (info["max_input_length"], info["max_client_batch_size"]) == (112, 200)
    answer = client(reader).get("/health")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("path", "body", "status", "error", "kind"),
    [
        ("/embed", {"inputs": []}, 400, "`inputs` cannot be empty", "Empty"),
        (
            "/embed",
            {"inputs": ["a"] * 201},
            413,
            "batch size 201 > maximum allowed batch size 200",
            "Validation",
        ),
        ("/embed", {"inputs": "words " * 40, "truncate": False}, 413, "a text has 42 tokens", "Validation"),
        ("/embed", {"inputs": "a", "truncation_direction": "Left"}, 413, "texts that are too", "Validation"),
        ("/embed", {"inputs": "a", "prompt_name": "s2s"}, 413, "no prompt is called 's2s'", "Validation"),
        ("/embed", {"inputs": "a", "dimensions": 9999}, 413, "`dimensions` may be at most", "Validation"),
        ("/embed", {"inputs": "a", "dimensions": 0}, 422, "dimensions: ", "Validation"),
        (
            "/rerank",
            {"query": "q", "texts": ["a"], "truncation_direction": "left"},
            413,
            "texts that are",
            "Validation",
        ),
        ("/embed", {"inputs": 3}, 422, "inputs", "Validation"),
        ("/rerank", {"query": "q", "texts": []}, 400, "`texts` cannot be empty", "Empty"),
        ("/rerank", {"query": " ", "texts": ["a"]}, 400, "`query` cannot be empty", "Empty"),
        ("/rerank", {"texts": ["a"]}, 422, "query: Field required", "Validation"),
    ],
)
def test_refusals_have_that_servers_form(
    reader: InProcess, path: str, body: Any, status: int, error: str, kind: str
) -> None:
    answer = client(reader).post(path, json=body)
    assert answer.status_code == status
    assert answer.json().keys() == {"error", "error_type"}
    assert answer.json()["error"].startswith(error)
    assert answer.json()["error_type"] == kind


def test_a_model_without_readers_is_a_failed_backend(backend: InProcess) -> None:
    for path, body in (("/rerank", {"query": "q", "texts": ["a"]}), ("/embed", {"inputs": "a"})):
        answer = client(backend).post(path, json=body)
        assert (answer.status_code, answer.json()["error_type"]) == (424, "Backend")
        assert answer.json()["error"].startswith("the model that is served has no")
    assert client(backend).get("/info").status_code == 424


@pytest.mark.parametrize(
    ("error", "status", "sentence", "kind"),
    [
        (OverloadedError("x", 2.5), 429, "Model is overloaded", "Overloaded"),
        (NotReadyError("no stages are loaded"), 503, "no stages are loaded", "Unhealthy"),
        (
            ZeroDivisionError("a secret"),
            424,
            "Inference failed; the line of request 5f0c in the server's log says why",
            "Backend",
        ),
    ],
)
def test_errors_of_the_stages_have_it_too(
    reader: InProcess, error: Exception, status: int, sentence: str, kind: str
) -> None:
    class Failing(InProcess):
        async def embed(self, work: EmbedWork, deadline: Deadline) -> Any:
            raise error

        async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
            raise error

    answer = client(Failing(reader.recommender)).post(
        "/embed", json={"inputs": "a"}, headers={"X-Request-ID": "5f0c"}
    )
    assert (answer.status_code, answer.json()) == (status, {"error": sentence, "error_type": kind})
    assert answer.headers.get("retry-after") == ("3" if status == 429 else None)
