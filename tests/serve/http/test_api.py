"""The paths of the API over real stages in this process."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx
from helpers.api_backend import InProcess, client
from helpers.sure_classifier import sure_model
from starlette.testclient import TestClient

from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_mlflow.references import ModelVersion
from cocite_serve.http.api import build_app
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.settings import ServeSettings


def test_a_slow_request_is_given_up(backend: InProcess) -> None:
    answer = client(backend, request_timeout_s=1e-6).post("/v1/recommend", json={"title": "x"})
    assert answer.status_code == 504
    assert answer.json()["error"].startswith("The request took longer than 1e-06 s")


def test_a_requests_deadline_is_its_own_or_the_servers(backend: InProcess) -> None:
    served = client(backend, request_timeout_s=300)
    for request, seconds, partial in (
        ({}, 300, False),
        ({"deadline_ms": 50_000}, 50, True),
        ({"deadline_ms": 600_000}, 300, True),
    ):
        begin = time.monotonic()
        assert served.post("/v1/recommend", json={"title": "Translation", **request}).status_code == 200
        deadline = backend.deadlines.pop()
        assert begin <= deadline.at - seconds <= time.monotonic()
        assert deadline.partial == partial
    for milliseconds in (0, 10**400):
        body = {"title": "x", "deadline_ms": milliseconds}
        assert served.post("/v1/recommend", json=body).status_code == 422


def test_a_deadline_that_passed_is_named(backend: InProcess) -> None:
    class Late(InProcess):
        async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
            raise TimeoutError("the deadline passed before the request was computed")

    answer = client(Late(backend.recommender)).post("/v1/recommend", json={"title": "x", "deadline_ms": 30})
    assert answer.status_code == 504
    assert answer.json()["error"].startswith("The request took longer than 0.03 s;")


def test_the_answer_says_how_many_candidates_the_cross_encoder_has_read(backend: InProcess) -> None:
    class Partial(InProcess):
        async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
            return Answer([], 1.0, 1.0, read=40, to_read=200)

    request = {"title": "x", "deadline_ms": 500}
    answer = client(Partial(backend.recommender)).post("/v1/recommend", json=request).json()
    assert answer["reranked"] == {"read": 40, "of": 200}
    assert client(backend).post("/v1/recommend", json=request).json()["reranked"] is None


def test_one_request_too_many_in_the_gateway_is_refused(backend: InProcess) -> None:
    class Waiting(InProcess):
        async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
            await released.wait()
            return Answer([], 1.0, 1.0)

    async def ask() -> list[httpx.Response]:
        settings = ServeSettings(index=Path("unused"), gateway={"max_requests": 2}, retry_after_s=3)
        transport = httpx.ASGITransport(build_app(lambda: Waiting(backend.recommender), settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as served:
            calls = [
                asyncio.ensure_future(served.post("/v1/recommend", json={"title": "x"})) for _ in range(3)
            ]
            done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            released.set()
            answers = [await call for call in calls]
            assert [call.result().status_code for call in done] == [429]
            return [*answers, await served.post("/v1/recommend", json={"title": "x"})]

    released = asyncio.Event()
    answers = asyncio.run(ask())
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 429]
    [refused] = [answer for answer in answers if answer.status_code == 429]
    assert refused.headers["retry-after"] == "3"
    assert refused.json()["error"] == "Too many requests are waiting; try again in 3 seconds."


def test_paths_and_methods_that_are_not_there(backend: InProcess) -> None:
    assert client(backend).get("/v1/nothing").json()["error"] == "Nothing is served at /v1/nothing."
    assert client(backend).get("/v1/recommend").status_code == 405
    too_many = client(backend).get("/v1/bibtex", params={"id": list("abcd")})
    assert (too_many.json()["error"], too_many.json()["field"]) == (
        "id: at most 3 papers at a time, got 4.",
        "id",
    )


def test_the_requests_or_the_servers_settings_reach_the_stages(backend: InProcess) -> None:
    for request, rerank in (({}, 8), ({"rerank": 0}, 0), ({"rerank": 20}, 20)):
        answer = client(backend, rerank=8).post("/v1/recommend", json={"title": "Translation", **request})
        assert answer.status_code == 200
        assert backend.options.pop().rerank == rerank
    client(backend).post("/v1/recommend", json={"title": "Translation"})
    assert backend.options.pop().rerank == 20, "the server's own default keeps to the limit"
    assert client(backend, rerank=8).get("/v1/version").json()["rerank"] == 8
    client(backend, cross_weight=0.25).post("/v1/recommend", json={"title": "Translation"})
    assert backend.options.pop().cross_weight == 0.25


def test_excluded_papers_and_authors_reach_the_stages_and_unknown_ids_the_response(
    backend: InProcess,
) -> None:
    [id_] = backend.papers.corpus.ids([7])
    request = {
        "title": "x",
        "exclude": [id_, "no-such-paper"],
        "exclude_authors": ["A. Author"],
        "evidence": False,
    }
    answer = client(backend).post("/v1/recommend", json=request)
    assert answer.json()["unknown"] == ["no-such-paper"]
    options = backend.options.pop()
    assert (options.exclude, options.exclude_authors, options.evidence) == ((7,), ("A. Author",), False)


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


def test_one_backend_answers_all_of_a_request(backend: InProcess) -> None:
    """A rollout switches backends while a request is under way: that request stays with the first."""
    other = InProcess(backend.recommender)
    other.index_version = "another"
    current = backend

    class Switching(InProcess):
        async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
            nonlocal current
            current = other
            return await super().recommend(query, options, deadline)

    current = Switching(backend.recommender)
    app = TestClient(build_app(lambda: current, ServeSettings(index=Path("unused"))))
    request = {"title": "x", "top_k": 1}
    versions = [app.post("/v1/recommend", json=request).json()["index_version"] for _ in range(2)]
    assert versions == [backend.index_version, "another"]


def test_health_and_version_name_the_registered_model(backend: InProcess) -> None:
    assert client(backend).get("/v1/health").json()["registered"] is None
    backend.registered = ModelVersion("ranker", 3, "champion")  # type: ignore[assignment]
    expected = {"name": "ranker", "version": 3, "alias": "champion"}
    assert client(backend).get("/v1/health").json()["registered"] == expected
    version = client(backend).get("/v1/version").json()
    assert version["registered"] == expected
    assert (version["year_from"], version["year_to"]) == backend.papers.years


def test_the_version_says_whether_sentences_that_need_a_citation_are_known(
    backend: InProcess, tmp_path: Path
) -> None:
    assert client(backend).get("/v1/version").json()["suggests"] is False
    backend.model = tmp_path
    assert client(backend).get("/v1/version").json()["suggests"] is False
    sure_model(tmp_path)
    assert client(backend).get("/v1/version").json()["suggests"] is True


def test_an_id_may_hold_slashes(backend: InProcess) -> None:
    answer = client(backend).get("/v1/papers/10.1000/no/such/bibtex")
    assert (answer.json()["error"], answer.json()["field"]) == (
        "No paper has the id '10.1000/no/such'.",
        "id",
    )


def test_bibtex_of_several_papers(backend: InProcess) -> None:
    ids = backend.papers.corpus.ids([0, 1])
    both = client(backend).get("/v1/bibtex", params={"id": ids})
    assert both.status_code == 200
    assert both.text.count("@") == 2
    one = client(backend).get(f"/v1/papers/{ids[0]}/bibtex")
    assert one.text.strip() in both.text
