"""One request: its options reach the stages, and pages together are one list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from helpers.api_backend import InProcess, client
from starlette.testclient import TestClient

from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline

REQUEST = {"title": "Neural machine translation", "depth": 60, "evidence": False}


def ask(served: TestClient, **request: Any) -> Any:
    answer = served.post("/v1/recommend", json=REQUEST | request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def pages(served: TestClient, top_k: int, **request: Any) -> list[Any]:
    found, page = [], ""
    while page is not None:
        answer = ask(served, top_k=top_k, page=page, **request)
        found += answer["papers"]
        page = answer["next"]
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"popularity": 0.6},
        {"diversity": 0.4},
        {"popularity": 0.5, "diversity": 0.5, "year_to": 2014},
        {"retrievers": ["title>title", "whole>text"], "weights": {"whole>text": 0.3}},
    ],
)
def test_pages_together_are_one_list_without_duplicates(backend: InProcess, options: dict[str, Any]) -> None:
    served = client(backend)
    long = ask(served, top_k=30, **options)["papers"]
    found = pages(served, 7, **options)
    assert [paper["id"] for paper in found[:30]] == [paper["id"] for paper in long]
    assert [paper["rank"] for paper in found] == list(range(1, len(found) + 1))
    assert len({paper["id"] for paper in found}) == len(found)
    assert 40 < len(found) <= 60


def test_options_of_a_request_are_those_of_the_library(backend: InProcess) -> None:
    options = Options(
        top_k=10,
        depth=60,
        retrievers=("whole>text", "title>title"),
        weights=(("whole>text", 0.5),),
        popularity=0.3,
        diversity=0.2,
    )
    found = ask(
        client(backend),
        top_k=10,
        retrievers=["whole>text", "title>title"],
        weights={"whole>text": 0.5},
        popularity=0.3,
        diversity=0.2,
    )
    recommender = backend.recommender
    expected = recommender.recommend(recommender.query(title=REQUEST["title"]), options)
    assert [paper["id"] for paper in found["papers"]] == [paper.id for paper in expected]
    assert [paper["score"] for paper in found["papers"]] == pytest.approx([p.score for p in expected])
    assert {"damped", "mmr"} <= found["papers"][0]["stages"].keys()


def test_papers_are_left_out_by_their_ids_elsewhere(backend: InProcess) -> None:
    corpus = backend.papers.corpus
    papers = corpus.papers_at(range(len(corpus)))
    arxiv = next(paper for paper in papers if paper.doi.lower().startswith("10.48550/arxiv."))
    acl = next(paper for paper in papers if paper.doi.lower().startswith("10.18653/v1/"))
    number, of_acl = arxiv.doi[len("10.48550/arXiv.") :], acl.doi[len("10.18653/v1/") :]
    forms = {
        arxiv.id: (arxiv.id, arxiv.doi, f"arXiv:{number}v2", f"https://arxiv.org/abs/{number}"),
        acl.id: (acl.id, f"https://doi.org/{acl.doi}", of_acl, f"https://aclanthology.org/{of_acl}/"),
    }
    for id_, names in forms.items():
        for name in names:
            answer = ask(client(backend), exclude=["CorpusId:1", name, "W1"])
            assert answer["unknown"] == ["CorpusId:1", "W1"]
            assert backend.options.pop().exclude == (corpus.row(id_),), name


def test_a_page_of_another_request_or_of_other_versions_is_refused(backend: InProcess) -> None:
    served = client(backend)
    page = ask(served, top_k=5)["next"]
    for other in ({"title": "Parsing"}, {"depth": 50}, {"diversity": 0.1}, {"page": page + "x"}):
        answer = served.post("/v1/recommend", json=REQUEST | {"page": page} | other)
        assert (answer.status_code, answer.json()["field"]) == (422, "page")
    backend.index_version = "000002"
    answer = served.post("/v1/recommend", json=REQUEST | {"page": page})
    assert answer.status_code == 410
    assert "are not served any more; ask again without `page`" in answer.json()["error"]


@pytest.mark.parametrize(
    ("request_", "error", "field"),
    [
        ({"K": 20, "depth": 20}, "K: is another name of depth; give one of the two.", "K"),
        ({"popularity": 1.1}, "popularity: input should be less than or equal to 1.", "popularity"),
        ({"diversity": -1}, "diversity: input should be greater than or equal to 0.", "diversity"),
        ({"weights": {"whole>text": 1001}}, "weights.whole>text: input should be less than or equal to 1000.",
         "weights.whole>text"),
        ({"retrievers": ["sentense"]}, "retrievers: no signal is called 'sentense' for global queries", "retrievers"),
        ({"weights": {"near>title": 1}}, "weights: no signal is called 'near>title' for global queries", "weights"),
        ({"retrievers": ["whole>text"], "weights": {"whole>text": 0}}, "weights: no signal is left", "weights"),
        ({"retrievers": ["x"] * 101}, "retrievers: at most 100 signals are allowed, got 101.", "retrievers"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_named(
    backend: InProcess, request_: dict[str, Any], error: str, field: str | None
) -> None:
    answer = client(backend).post("/v1/recommend", json={"title": "Parsing"} | request_)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(error)
    assert answer.json()["field"] == field


def test_a_page_continues_with_as_many_candidates_read_as_the_first_had(reader: InProcess) -> None:
    request = {"context": "parsing of trees as in [CIT]", "top_k": 4, "depth": 30, "rerank": 12, "title": ""}
    first = ask(client(reader), **request)
    ask(client(reader), **request, page=first["next"], deadline_ms=5_000)
    assert [options.rerank for options in reader.options] == [12, 12]
    assert [deadline.partial for deadline in reader.deadlines] == [False, False]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"release": "beside"}, "release: no release 'beside' is loaded; the only name is 'served'."),
        ({"release": "other"}, "release: no release 'other' is loaded; the only name is 'served'."),
        ({"release": ""}, "release: no release '' is loaded; the only name is 'served'."),
        ({"release": "x" * 201}, "release: string should have at most 200 characters."),
        ({"release": 1}, "release: input should be a valid string."),
        ({"client": "x" * 201}, "client: string should have at most 200 characters."),
    ],
)
def test_a_release_that_is_not_loaded_is_refused(backend: InProcess, given: Any, error: str) -> None:
    answer = client(backend).post("/v1/recommend", json=REQUEST | given)
    assert (answer.status_code, answer.json()["error"]) == (422, error)
    assert ask(client(backend), release="served")["release"] == "served"


class Chosen(InProcess):
    """A backend that notes who asks, and answers with papers of two releases."""

    clients: tuple[tuple[str | None, str], ...] = ()

    def chosen(self, release: str | None, client_: str) -> Chosen:
        self.clients += ((release, client_),)
        return self

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        answer = await super().recommend(query, options, deadline)
        counts = tuple(range(len(answer.recommendations)))
        return replace(answer, release="interleaved", token="t", in_citations=counts)


def test_a_client_is_known_by_the_name_it_gives_or_the_requests_id(backend: InProcess) -> None:
    chosen = Chosen(backend.recommender)
    ask(client(chosen), client="one")
    client(chosen).post("/v1/recommend", json=REQUEST, headers={"X-Request-ID": "5f0c"})
    assert chosen.clients == ((None, "one"), (None, "5f0c"))


def test_an_interleaved_answer_has_its_token_and_no_next_page(backend: InProcess) -> None:
    answer = ask(client(Chosen(backend.recommender)), top_k=4)
    assert (answer["release"], answer["interleaved"], answer["next"]) == ("interleaved", "t", None)
    assert [paper["in_citations"] for paper in answer["papers"]] == [0, 1, 2, 3]
    whole = ask(client(backend), top_k=4)
    assert (whole["release"], whole["interleaved"]) == ("served", None)
    assert whole["next"]
