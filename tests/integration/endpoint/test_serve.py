"""The endpoint on a real Ray Serve: the same ranking as in process, limits, and a clean start and end."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bibtexparser
import httpx
import pytest
from helpers.documented import require_documented_answers
from helpers.endpoint import Running

from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite_serve.http.schemas import EvidenceOut, RecommendResponse

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def client(endpoint: Running) -> httpx.Client:
    with httpx.Client(base_url=endpoint.url, timeout=120) as client:
        yield client


@pytest.fixture(scope="module")
def recommender(endpoint: Running) -> Recommender:
    return Recommender.load(endpoint.model, endpoint.index)


def ask(client: httpx.Client, **request: object) -> RecommendResponse:
    answer = client.post("/v1/recommend", json=request)
    assert answer.status_code == 200, answer.text
    return RecommendResponse.model_validate(answer.json())


CONTEXT = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
TITLE = "Dense vectors of words learned from their neighbours"
ABSTRACT = "We learn vectors of words from large corpora and test them on analogies and tagging."


@pytest.mark.parametrize(
    ("request_", "query"),
    [
        ({"context": CONTEXT}, {"context": CONTEXT}),
        ({"text": CONTEXT}, {"context": CONTEXT}),
        ({"context": CONTEXT, "title": TITLE}, {"context": CONTEXT, "title": TITLE}),
        ({"title": TITLE, "abstract": ABSTRACT}, {"title": TITLE, "abstract": ABSTRACT}),
        ({"text": f"{TITLE}\n{ABSTRACT}"}, {"title": TITLE, "abstract": ABSTRACT}),
        (
            {"title": TITLE, "abstract": ABSTRACT, "year": 2015},
            {"title": TITLE, "abstract": ABSTRACT, "year": 2015},
        ),
    ],
)
def test_ranks_as_the_library_does(
    client: httpx.Client, recommender: Recommender, request_: dict[str, object], query: dict[str, object]
) -> None:
    found = ask(client, **request_, top_k=15, K=60)
    expected = recommender.recommend(recommender.query(**query), Options(top_k=15, depth=60))
    assert [paper.id for paper in found.papers] == [paper.id for paper in expected]
    assert [paper.score for paper in found.papers] == pytest.approx(
        [paper.score for paper in expected], rel=1e-5
    )
    assert [paper.stages.keys() for paper in found.papers] == [paper.stages.keys() for paper in expected]
    for paper, reference in zip(found.papers, expected, strict=True):
        assert paper.evidence is not None
        assert paper.evidence == EvidenceOut.model_validate(reference.evidence, from_attributes=True)
    assert any(paper.evidence and paper.evidence.shared_words for paper in found.papers)


def test_year_limits_and_exclusions(client: httpx.Client) -> None:
    everything = ask(client, context=CONTEXT, top_k=10)
    first = everything.papers[0]
    assert first.authors
    years = ask(client, context=CONTEXT, year_from=2010, year_to=2015)
    assert years.papers
    assert all(paper.year and 2010 <= paper.year <= 2015 for paper in years.papers)
    without = ask(client, context=CONTEXT, exclude=[first.id, "no-such-paper"])
    assert first.id not in [paper.id for paper in without.papers]
    assert without.unknown == ["no-such-paper"]
    by_others = ask(client, context=CONTEXT, exclude_authors=[first.authors[0].upper()])
    assert all(first.authors[0] not in paper.authors for paper in by_others.papers)
    assert len(by_others.papers) == 20


def test_each_gap_of_a_draft(client: httpx.Client) -> None:
    draft = "Topics are found by latent Dirichlet allocation [CIT]. Translations are scored with BLEU [CIT]."
    first, second = (ask(client, text=draft, gap=gap) for gap in (0, 1))
    assert (first.gaps, first.gap, second.gap) == (2, 0, 1)
    assert [p.id for p in first.papers] != [p.id for p in second.papers]


def test_health_version_and_papers(client: httpx.Client, recommender: Recommender) -> None:
    assert client.get("/v1/health").json() == {
        "status": "ok",
        "papers": len(recommender.index),
        "registered": None,
    }
    version = client.get("/v1/version").json()
    answer = ask(client, context=CONTEXT, top_k=1)
    assert (version["model_version"], version["index_version"]) == (
        answer.model_version,
        answer.index_version,
    )
    paper = answer.papers[0]
    found = client.get(f"/v1/papers/{paper.id}").json()
    assert (found["title"], found["in_citations"]) == (paper.title, paper.in_citations)
    missing = client.get("/v1/papers/no/such/paper").json()
    assert (missing["error"], missing["field"]) == ("No paper has the id 'no/such/paper'.", "id")


def test_bibtex(client: httpx.Client) -> None:
    papers = ask(client, context=CONTEXT, top_k=3).papers
    one = client.get(f"/v1/papers/{papers[0].id}/bibtex")
    assert one.headers["content-type"].startswith("text/plain")
    assert bibtexparser.parse_string(one.text).entries[0].fields_dict["year"].value == str(papers[0].year)
    several = client.get("/v1/bibtex", params={"id": [paper.id for paper in papers]})
    assert len(bibtexparser.parse_string(several.text).entries) == 3


def test_interactive_documentation_needs_no_internet(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert {"/v1/recommend", "/v1/health", "/v1/version", "/v1/papers/{id}"} <= described["paths"].keys()
    fields = described["components"]["schemas"]["RecommendRequest"]["properties"]
    assert all(field.get("description") for field in fields.values())
    page = client.get("/docs").text
    assert "http://" not in page
    assert "https://" not in page
    for asset in ("docs-assets/swagger-ui-bundle.js", "docs-assets/swagger-ui.css"):
        assert asset in page
        assert client.get(f"/{asset}").status_code == 200


def test_too_many_requests_are_refused_at_once(endpoint: Running, client: httpx.Client) -> None:
    # One client for all threads, and texts that take a while: the stage must be the slowest link.
    request = {"title": TITLE, "abstract": "translation of vectors and topics " * 500, "depth": 200}
    with httpx.Client(base_url=endpoint.url, timeout=120, limits=httpx.Limits(max_connections=60)) as many:

        def one(_: int) -> httpx.Response:
            return many.post("/v1/recommend", json=request)

        with ThreadPoolExecutor(60) as pool:
            answers = list(pool.map(one, range(120)))
    refused = [answer for answer in answers if answer.status_code != 200]
    assert len(refused) < len(answers), "those who waited their turn were answered"
    assert refused, "60 requests at once are more than this endpoint lets wait"
    for answer in refused:
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["error"] == "Too many requests are waiting; try again in 1 second."
    assert ask(client, context=CONTEXT).papers, "and it goes on"


def test_answers_through_the_proxy_are_documented(endpoint: Running, tmp_path: Path) -> None:
    require_documented_answers(endpoint.url, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "2")


def test_a_taken_port_is_told_in_a_sentence(endpoint: Running) -> None:
    port = endpoint.url.rpartition(":")[2]
    done = cocite("serve", "--index", endpoint.index, "--port", port)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1] == (
        f"cocite: --port: cannot listen on 127.0.0.1:{port}: Address already in use (choose another port)"
    )


def cocite(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("cocite")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
