"""The API over real stages in this process: what is refused, and in which words."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from cocite.corpus.starter import build_starter
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.answers import Answer
from cocite_serve.api import build_app
from cocite_serve.papers import Papers
from cocite_serve.settings import Limits, ServeSettings


class InProcess:
    """Both stages in this process, behind the gateway's application."""

    def __init__(self, recommender: Recommender) -> None:
        index = recommender.index
        self.recommender = recommender
        self.registered = None
        self.papers = Papers(index.corpus, index.alive)
        self.model_version, self.index_version = recommender.model_version, index.version

    async def ready(self) -> None:
        return

    async def recommend(self, query: Query, options: Options) -> Answer:
        return Answer(await asyncio.to_thread(self.recommender.recommend, query, options), 1.0, 1.0)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    folder = tmp_path_factory.mktemp("api")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return InProcess(Recommender.load(None, folder / "index"))


LIMITS = Limits(
    body_bytes=4096,
    title_chars=100,
    abstract_chars=200,
    text_chars=300,
    top_k=30,
    depth=100,
    rerank=20,
    exclude=3,
    papers=3,
)


def client(backend: InProcess, **changes: Any) -> TestClient:
    settings = ServeSettings(index=Path("unused"), limits=LIMITS, **changes)
    return TestClient(build_app(lambda: backend, settings), raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("request_", "error", "field"),
    [
        ({}, "Give a title and abstract, or a text with the gap marked [CIT].", None),
        ({"title": "x" * 101}, "title: at most 100 characters are allowed, got 101.", "title"),
        ({"abstract": "x" * 201}, "abstract: at most 200 characters are allowed, got 201.", "abstract"),
        ({"context": "x" * 301}, "context: at most 300 characters are allowed, got 301.", "context"),
        ({"text": "x" * 301}, "text: at most 300 characters are allowed, got 301.", "text"),
        ({"title": "x", "top_k": 31}, "top_k: at most 30 is allowed, got 31.", "top_k"),
        ({"title": "x", "top_k": 0}, "top_k: input should be greater than or equal to 1.", "top_k"),
        ({"title": "x", "K": 101}, "depth: at most 100 is allowed, got 101.", "depth"),
        ({"title": "x", "rerank": 21}, "rerank: at most 20 is allowed, got 21.", "rerank"),
        ({"title": "x", "exclude": list("abcd")}, "exclude: at most 3 values are allowed, got 4.", "exclude"),
        ({"title": "x", "exclude": ["y" * 101]}, "exclude: a value may have at most 100 characters.", "exclude"),
        ({"title": "x", "authors": list("abcd")}, "authors: at most 3 values are allowed, got 4.", "authors"),
        ({"title": "x", "year_from": 99999}, "year_from: input should be less than or equal to 2999.", "year_from"),
        ({"title": "x", "year_from": 2010, "venue": 2}, "venue: input should be a valid string.", "venue"),
        ({"title": "x", "year_from": 2010, "year_to": 2009}, "year_from: 2010 is later than year_to, 2009.",
         "year_from"),
        ({"title": "x", "year": 2009, "year_from": 2010},
         "year_from: 2010 is later than the manuscript's year, 2009; give year_to, or candidates: all.", "year_from"),
        ({"title": "x", "candidates": "newer"}, "candidates: input should be 'older' or 'all'.", "candidates"),
        ({"titel": "x"}, "titel: there is no such field (did you mean 'title'?).", "titel"),
        ({"title": 3}, "title: input should be a valid string.", "title"),
        ([], "The body must be a JSON object, sent as Content-Type: application/json.", None),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(backend: InProcess, request_: Any, error: str, field: str | None) -> None:
    answer = client(backend).post("/v1/recommend", json=request_)
    assert (answer.status_code, answer.json()) == (422, {"error": error, "field": field})


def test_bodies_that_are_not_json(backend: InProcess) -> None:
    plain = client(backend).post("/v1/recommend", content=b"title=x")
    assert plain.status_code == 422
    assert "must be a JSON object" in plain.json()["error"]
    broken = client(backend).post(
        "/v1/recommend", content=b'{"title":', headers={"Content-Type": "application/json"}
    )
    assert broken.status_code == 422
    assert broken.json()["error"].startswith("The body is not valid JSON")


@pytest.mark.parametrize("declared", [True, False])
def test_large_bodies_are_refused(backend: InProcess, declared: bool) -> None:
    body = b"x" * 5000
    answer = client(backend).post(
        "/v1/recommend", content=body if declared else iter([body[:3000], body[3000:]])
    )
    assert answer.status_code == 413
    assert answer.json()["error"] == "The request's body is larger than the 4,096 bytes allowed."


def test_a_slow_request_is_given_up(backend: InProcess) -> None:
    answer = client(backend, request_timeout_s=1e-6).post("/v1/recommend", json={"title": "x"})
    assert answer.status_code == 504
    assert answer.json()["error"].startswith("The request took longer than 1e-06 s")


def test_paths_and_methods_that_are_not_there(backend: InProcess) -> None:
    assert client(backend).get("/v1/nothing").json() == {
        "error": "Nothing is served at /v1/nothing.",
        "field": None,
    }
    assert client(backend).get("/v1/recommend").status_code == 405
    too_many = client(backend).get("/v1/bibtex", params={"id": list("abcd")})
    assert too_many.json() == {"error": "id: at most 3 papers at a time, got 4.", "field": "id"}


def test_the_depth_has_two_names(backend: InProcess) -> None:
    request = {"title": "Neural machine translation", "top_k": 30}
    for name in ("K", "depth"):
        assert len(client(backend).post("/v1/recommend", json={**request, name: 7}).json()["papers"]) == 7


def test_what_the_cross_encoder_reads_is_the_requests_or_the_servers(backend: InProcess) -> None:
    asked: list[Options] = []

    class Told(InProcess):
        async def recommend(self, query: Query, options: Options) -> Answer:
            asked.append(options)
            return await super().recommend(query, options)

    told = Told(backend.recommender)
    for request, rerank in (({}, 8), ({"rerank": 0}, 0), ({"rerank": 20}, 20)):
        answer = client(told, rerank=8).post("/v1/recommend", json={"title": "Translation", **request})
        assert answer.status_code == 200
        assert asked.pop().rerank == rerank
    client(told).post("/v1/recommend", json={"title": "Translation"})
    assert asked.pop().rerank == 20, "the server's own default keeps to the limit"
    assert client(told, rerank=8).get("/v1/version").json()["rerank"] == 8
    client(told, cross_weight=0.25).post("/v1/recommend", json={"title": "Translation"})
    assert asked.pop().cross_weight == 0.25


def test_a_manuscripts_year_limits_what_is_recommended(backend: InProcess) -> None:
    def years(**fields: Any) -> set[int]:
        request = {"title": "Neural machine translation", "top_k": 30, **fields}
        answer = client(backend).post("/v1/recommend", json=request)
        assert answer.status_code == 200, answer.json()
        return {paper["year"] for paper in answer.json()["papers"]}

    assert max(years()) > 2016
    assert max(years(year=2016)) <= 2016
    assert years(year=2016, candidates="older") == years(year=2016)
    assert max(years(year=2016, candidates="all")) > 2016
    assert 2016 < max(years(year=2016, year_to=2018)) <= 2018
    assert min(years(year=2016, year_from=2017, candidates="all")) >= 2017
    assert years(year=1950) == set()


def test_the_schema_says_what_a_manuscripts_year_does(backend: InProcess) -> None:
    schema = client(backend).get("/openapi.json").json()["components"]["schemas"]["RecommendRequest"]
    field = schema["properties"]["candidates"]
    assert (field["enum"], field["default"]) == (["older", "all"], "older")
    assert "only papers of that year or earlier" in field["description"]
    assert "`candidates` or `year_to`" in schema["properties"]["year"]["description"]


def test_the_evidence_is_the_librarys(backend: InProcess) -> None:
    answer = client(backend).post("/v1/recommend", json={"title": "Neural machine translation", "top_k": 5})
    query = backend.recommender.query(title="Neural machine translation")
    expected = backend.recommender.recommend(query, Options(top_k=5))
    for paper, reference in zip(answer.json()["papers"], expected, strict=True):
        found = reference.evidence
        assert paper["evidence"] == {
            "shared_words": [word._asdict() for word in found.shared_words],
            "cited_by": [citing._asdict() for citing in found.cited_by],
            "sentences": [sentence._asdict() for sentence in found.sentences],
        }
    assert any(paper.evidence.cited_by for paper in expected)


def test_no_evidence_when_none_is_wanted(backend: InProcess) -> None:
    papers = (
        client(backend)
        .post("/v1/recommend", json={"title": "Translation", "evidence": False})
        .json()["papers"]
    )
    assert papers
    assert all(paper["evidence"] == {"shared_words": [], "cited_by": [], "sentences": []} for paper in papers)


def test_the_browser_is_told_to_load_nothing_from_elsewhere(backend: InProcess) -> None:
    page = client(backend).get("/")
    assert page.status_code == 200
    assert "script-src 'self';" in page.headers["content-security-policy"]
    assert "'unsafe-inline'" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    for name in ("app.js", "api.js", "card.js", "dom.js", "theme.js", "style.css", "icon.svg"):
        assert client(backend).get(f"/static/{name}").status_code == 200


def test_removed_papers_are_not_found(backend: InProcess) -> None:
    alive = backend.papers.alive.copy()
    id_ = backend.papers.corpus.ids([0])[0]
    assert client(backend).get(f"/v1/papers/{id_}").status_code == 200
    alive[0] = False
    backend.papers, whole = Papers(backend.papers.corpus, alive), backend.papers
    try:
        assert client(backend).get(f"/v1/papers/{id_}").status_code == 404
        assert client(backend).get("/v1/health").json()["papers"] == len(whole) - 1
    finally:
        backend.papers = whole
