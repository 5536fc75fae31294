"""``POST /v1/links``: the links among papers, over a whole index and one in shards."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers.api_backend import LIMITS, InProcess, client

from cocite.corpus.starter import build_starter
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite_serve.http.papers import Papers


def famous(papers: Papers, count: int) -> list[str]:
    """Ids of the papers that are cited most."""
    counts = papers.in_citations(range(len(papers.corpus)))
    rows = sorted(range(len(counts)), key=lambda row: (-counts[row], row))
    return list(papers.corpus.ids(rows[:count]))


def counted(papers: Papers, ids: list[str]) -> tuple[list[Any], list[Any]]:
    """Citations and co-citations, by sets of ids."""
    corpus = papers.corpus
    cites = [set(corpus.ids(corpus.cites[row])) for row in range(len(corpus))]
    of = {id_: cites[corpus.row(id_)] for id_ in ids}
    pairs = [
        {"first": one, "second": other, "papers": sum({one, other} <= cited for cited in cites)}
        for one, other in combinations(ids, 2)
    ]
    citations = [
        {"citing": one, "cited": other} for one in ids for other in ids if one != other and other in of[one]
    ]
    return citations, [pair for pair in pairs if pair["papers"]]


def test_citations_and_cocitations_are_those_of_the_corpus(backend: InProcess) -> None:
    ids = famous(backend.papers, 20)
    answer = client(backend).post("/v1/links", json={"ids": ids})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    citations, cocitations = counted(backend.papers, ids)
    assert found["citations"] == citations
    assert found["cocitations"] == cocitations
    assert (found["uncounted"], found["unknown"]) == ([], [])
    assert found["index_version"] == backend.index_version
    assert len(citations) > 5
    assert len(cocitations) > 5


def test_an_index_in_shards_has_the_same_links(backend: InProcess, tmp_path: Path) -> None:
    ShardedIndex.create(build_starter(tmp_path / "corpus"), tmp_path / "index", shards=3)
    shards = InProcess(Recommender.load(None, tmp_path / "index"))
    shards.papers = Papers.open(tmp_path / "index", shards.index_version)
    body = {"ids": famous(backend.papers, 20)}
    whole, parts = (client(one).post("/v1/links", json=body).json() for one in (backend, shards))
    for name in ("citations", "cocitations"):
        assert parts[name] == whole[name], name


def test_an_unknown_id_is_named_and_one_given_twice_counts_once(backend: InProcess) -> None:
    ids = famous(backend.papers, 3)
    found = (
        client(backend).post("/v1/links", json={"ids": [*ids, "no such paper", ids[0], f" {ids[1]} "]}).json()
    )
    assert found["unknown"] == ["no such paper"]
    assert found | {"unknown": []} == client(backend).post("/v1/links", json={"ids": ids}).json()
    alone = client(backend).post("/v1/links", json={"ids": ["no such paper"]}).json()
    assert (alone["citations"], alone["cocitations"], alone["unknown"]) == ([], [], ["no such paper"])


def test_a_removed_paper_is_unknown(backend: InProcess) -> None:
    ids = famous(backend.papers, 3)
    alive = backend.papers.alive.copy()
    alive[backend.papers.corpus.row(ids[0])] = False
    backend.papers = Papers(backend.papers.corpus, alive)
    found = client(backend).post("/v1/links", json={"ids": ids}).json()
    assert found["unknown"] == ids[:1]
    assert ids[0] not in str([found["citations"], found["cocitations"]])


def test_links_that_the_index_does_not_know_do_not_count(backend: InProcess) -> None:
    papers = backend.papers
    ids = famous(papers, 20)
    backend.papers = Papers(papers.corpus, papers.alive, citing=papers.corpus.years <= 0)
    found = client(backend).post("/v1/links", json={"ids": ids}).json()
    assert (found["citations"], found["cocitations"]) == ([], [])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"ids": ["x"] * (LIMITS.links + 1)},
            f"ids: at most {LIMITS.links} are allowed, got {LIMITS.links + 1}",
        ),
        ({"ids": ["x" * 2_000]}, "ids: a value may have at most 100 characters"),
        ({"ids": []}, "ids: list should have at least 1 item"),
        ({}, "ids: is required"),
        ({"ids": ["x"], "top_k": 3}, "top_k: there is no such field"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    backend: InProcess, body: dict[str, Any], words: str
) -> None:
    answer = client(backend).post("/v1/links", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["error"].startswith(words)


def test_the_description_is_exact(backend: InProcess) -> None:
    api = client(backend)
    description = api.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    ids = schemas["LinksRequest"]["properties"]["ids"]
    assert (ids["minItems"], ids["maxItems"], ids["items"]["maxLength"]) == (
        1,
        LIMITS.links,
        LIMITS.title_chars,
    )
    answer = api.post("/v1/links", json={"ids": famous(backend.papers, 8)}).json()
    jsonschema.validate(answer, description | {"$ref": "#/components/schemas/LinksResponse"})
    assert schemas["LinksResponse"]["properties"].keys() == answer.keys()
    assert {"200", "422", "429", "504"} <= description["paths"]["/v1/links"]["post"]["responses"].keys()
