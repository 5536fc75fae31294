"""Texts, batches and pages on a real endpoint, whose model reads texts; and whether it answers what it documents."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from haystack import Document
from helpers.documented import DRAFTS, WITHOUT_DRAFTS, require_documented_answers
from helpers.endpoint import Running, serving
from helpers.served_texts import texts_folders
from helpers.sources import ROOT
from huggingface_hub import InferenceClient
from langchain_core.vectorstores import InMemoryVectorStore

from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query

pytestmark = pytest.mark.integration

TEXTS = ["Parsing of trees", "Vectors of words", "Quality of translations"]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("texts")
    # Without Ray: what is asked here is the API, and it is up in seconds.
    with serving(*texts_folders(folder), folder / "log.txt", "--on", "process") as running:
        yield running


@pytest.fixture(scope="module")
def client(endpoint: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=endpoint.url, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def recommender(endpoint: Running) -> Recommender:
    return Recommender.load(endpoint.model, endpoint.index)


def test_hugging_faces_client_gets_the_encoders_vectors(
    endpoint: Running, recommender: Recommender, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tests are offline, where this client asks nobody, not even this machine.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    client = InferenceClient(model=endpoint.url)
    encoder = recommender.first.signals.encoders["sentence"].encoder
    expected = encoder.encode_queries([Query("q", title=text) for text in TEXTS])
    # Texts that are encoded together are computed in one product, so the last digits may differ.
    np.testing.assert_allclose(client.feature_extraction(TEXTS), expected, atol=0.02)
    one = client.feature_extraction(TEXTS[0], normalize=True, truncate=True)
    np.testing.assert_allclose(one, expected[:1], atol=0.02)


def test_langchains_store_searches_by_the_documented_class(
    endpoint: Running, recommender: Recommender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n([^`]*class ServedEmbeddings[^`]*)```", text)
    names: dict[str, Any] = {}
    exec(block, names)
    store = InMemoryVectorStore.from_texts(TEXTS, names["ServedEmbeddings"](endpoint.url))
    found = store.similarity_search_with_score("Words as vectors", k=3)
    encoder = recommender.first.signals.encoders["sentence"].encoder
    query, *texts = encoder.encode_queries([Query("q", title=each) for each in ("Words as vectors", *TEXTS)])
    cosines = np.stack(texts) @ query / np.linalg.norm(texts, axis=1) / np.linalg.norm(query)
    np.testing.assert_allclose([score for _, score in found], np.sort(cosines)[::-1], atol=0.02)
    assert {document.page_content for document, _ in found} == {*TEXTS}


def test_haystacks_adapters_embed_and_rank(
    endpoint: Running, recommender: Recommender, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedders = pytest.importorskip("haystack_integrations.components.embedders.huggingface_api")
    rankers = pytest.importorskip("haystack_integrations.components.rankers.huggingface_api")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    encoder = recommender.first.signals.encoders["sentence"].encoder
    expected = encoder.encode_queries([Query("q", title=text) for text in TEXTS])
    server = {"api_type": "text_embeddings_inference", "api_params": {"url": endpoint.url}}

    one = embedders.HuggingFaceAPITextEmbedder(**server).run(TEXTS[0])["embedding"]
    np.testing.assert_allclose(one, expected[0], atol=0.02)
    documents = [Document(content=text) for text in TEXTS]
    many = embedders.HuggingFaceAPIDocumentEmbedder(**server, progress_bar=False).run(documents)["documents"]
    np.testing.assert_allclose([document.embedding for document in many], expected, atol=0.02)

    ranker = rankers.HuggingFaceTEIRanker(url=endpoint.url, top_k=2, raw_scores=True)
    ranked = ranker.run("Words have vectors [CIT].", documents)["documents"]
    cross_encoder: Any = recommender.second.cross_encoder
    pairs = cross_encoder.text_pairs(Query("q", context="Words have vectors TARGETCIT."), TEXTS)
    logits = cross_encoder.read([(pairs, slice(None))])[0]
    best = np.argsort(-logits)[:2]
    assert [document.content for document in ranked] == [TEXTS[row] for row in best]
    np.testing.assert_allclose([document.score for document in ranked], logits[best], atol=0.05)
    with pytest.raises(RuntimeError, match="truncation_direction"):
        ranker.run("Words [CIT].", documents, truncation_direction=rankers.TruncationDirection.LEFT)


def test_the_documented_call_of_rerank(endpoint: Running, recommender: Recommender) -> None:
    # As in text-embeddings-inference's README.
    body = {"query": "Words have vectors [CIT].", "texts": TEXTS, "raw_scores": False}
    command = ["curl", "-s", f"{endpoint.url}/rerank", "-X", "POST", "-d", json.dumps(body)]
    done = subprocess.run(
        [*command, "-H", "Content-Type: application/json"], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    cross_encoder: Any = recommender.second.cross_encoder
    pairs = cross_encoder.text_pairs(Query("q", context="Words have vectors TARGETCIT."), TEXTS)
    logits = cross_encoder.read([(pairs, slice(None))])[0]
    assert sorted(rank["index"] for rank in found) == [0, 1, 2]
    assert [rank["score"] for rank in found] == sorted((rank["score"] for rank in found), reverse=True)
    for rank in found:
        assert rank["score"] == pytest.approx(1 / (1 + np.exp(-logits[rank["index"]])), abs=0.01)


def test_what_is_served_is_told(client: httpx.Client) -> None:
    assert client.get("/info").json()["model_type"].keys() == {"reranker"}
    assert client.get("/health").status_code == 200
    assert client.get("/v1/version").json()["releases"] == ["served"]
    refused = client.post("/v1/recommend", json={"title": "Parsing", "release": "beside"})
    sentence = "release: no release 'beside' is loaded; the only name is 'served'."
    assert (refused.status_code, refused.json()["error"]) == (422, sentence)
    head = client.head("/v1/version")
    assert (head.status_code, head.content) == (200, b"")


def test_a_batch_on_the_endpoint(client: httpx.Client) -> None:
    requests = [{"context": f"{text} as in [CIT].", "top_k": 3, "rerank": 5} for text in TEXTS] * 4
    with client.stream("POST", "/v1/recommend/batch", json=requests) as answer:
        lines = [json.loads(line) for line in answer.iter_lines()]
    assert {line["index"]: line["status"] for line in lines} == dict.fromkeys(range(12), 200)
    for line in lines:
        alone = client.post("/v1/recommend", json=requests[line["index"]]).json()
        assert [paper["id"] for paper in line["answer"]["papers"]] == [
            paper["id"] for paper in alone["papers"]
        ]


def test_pages_on_the_endpoint_are_one_list(client: httpx.Client) -> None:
    request = {"context": "Parsing as in [CIT].", "rerank": 9, "depth": 30, "diversity": 0.3}
    whole = client.post("/v1/recommend", json=request | {"top_k": 24}).json()["papers"]
    found, page = [], ""
    for _ in range(3):
        answer = client.post("/v1/recommend", json=request | {"top_k": 8, "page": page}).json()
        found += answer["papers"]
        page = answer["next"]
    assert [paper["id"] for paper in found] == [paper["id"] for paper in whole]


def test_a_client_that_leaves_a_batch_keeps_nobody_waiting(client: httpx.Client) -> None:
    requests = [{"context": f"{text} as in [CIT].", "rerank": 200, "depth": 300} for text in TEXTS * 20]
    begin = time.monotonic()
    assert client.post("/v1/recommend", json=requests[0]).status_code == 200
    alone = time.monotonic() - begin
    with client.stream("POST", "/v1/recommend/batch", json=requests) as answer:
        next(answer.iter_lines())
    # Behind all 60 of the batch it would take longer.
    patience = max(15, 30 * alone)
    small = client.post("/v1/recommend", json={"title": "Parsing", "top_k": 3}, timeout=patience)
    assert small.status_code == 200


@pytest.mark.parametrize(
    ("phases", "which"),
    [
        ("examples,coverage,fuzzing", WITHOUT_DRAFTS),
        ("examples,fuzzing", DRAFTS),
        pytest.param("coverage", DRAFTS, marks=pytest.mark.thorough),
    ],
    ids=["without-drafts", "drafts", "every-value-of-drafts"],
)
def test_every_answer_is_one_that_is_documented(
    endpoint: Running, tmp_path: Path, phases: str, which: tuple[str, ...]
) -> None:
    require_documented_answers(endpoint.url, tmp_path, "--phases", phases, "--max-examples", "8", *which)
