from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from helpers.api_backend import InProcess, client

from cocite.pipeline.evidence import Evidence, SharedWord
from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.http.conversion import Answer, to_paper, to_query, to_response
from cocite_serve.http.manuscript import Manuscript
from cocite_serve.http.schemas import RecommendRequest, RecommendResponse


def test_the_evidence_is_the_librarys(backend: InProcess) -> None:
    answer = client(backend).post("/v1/recommend", json={"title": "Neural machine translation", "top_k": 5})
    query = backend.recommender.query(title="Neural machine translation")
    expected = backend.recommender.recommend(query, Options(top_k=5))
    for paper, reference in zip(answer.json()["papers"], expected, strict=True):
        found = reference.evidence
        parts = {
            "shared_words": [word._asdict() for word in found.shared_words],
            "cited_by": [citing._asdict() for citing in found.cited_by],
            "sentences": [sentence._asdict() for sentence in found.sentences],
            "seeds": [],
        }
        assert paper["evidence"] == json.loads(json.dumps(parts))  # lists in place of tuples
    assert any(paper.evidence.cited_by for paper in expected)


def test_no_evidence_when_none_is_wanted(backend: InProcess) -> None:
    papers = (
        client(backend)
        .post("/v1/recommend", json={"title": "Translation", "evidence": False})
        .json()["papers"]
    )
    assert papers
    assert all(
        paper["evidence"] == {"shared_words": [], "cited_by": [], "sentences": [], "seeds": []}
        for paper in papers
    )


def test_a_query_has_the_manuscripts_text_and_the_requests_metadata() -> None:
    request = RecommendRequest(title="unused", year=2015, authors=["A"], venue="V")
    query = to_query(Manuscript("T", "A.", "some TARGETCIT text"), request)
    assert (query.title, query.abstract, query.context) == ("T", "A.", "some TARGETCIT text")
    assert (query.year, query.authors, query.venue) == (2015, ("A",), "V")


def test_a_response_leaves_out_scores_that_are_not_numbers_and_unknown_years(backend: InProcess) -> None:
    query = backend.recommender.query(title="Neural machine translation")
    [best, second] = backend.recommender.recommend(query, Options(top_k=2))
    best = replace(best, year=0, stages={"first-stage": 1.5, "cross-encoder": -math.inf})
    versions = {"model_version": "5f0c", "index_version": "000001"}
    response = to_response(
        Manuscript("T", ""), Answer([best, second], 2.0, 3.0), backend.papers, ["x"], versions
    )
    assert response.papers[0].year is None
    assert response.papers[0].stages == {"first-stage": 1.5}
    assert [paper.rank for paper in response.papers] == [1, 2]
    assert response.papers[1].in_citations == backend.papers.in_citations([second.row])[0]
    assert (response.took_ms.retrieve, response.took_ms.rerank, response.took_ms.total) == (2.0, 3.0, 5.0)
    assert (response.read_as, response.unknown, response.model_version) == (
        "title and abstract",
        ["x"],
        "5f0c",
    )
    context = to_response(
        Manuscript("", "", "a TARGETCIT", 0, 1), Answer([], 0, 0), backend.papers, [], versions
    )
    assert (context.read_as, context.gap, context.gaps) == ("context", 0, 1)


def test_a_response_says_which_shards_are_missing_by_numbers_from_one(backend: InProcess) -> None:
    versions = {"model_version": "5f0c", "index_version": "000001"}

    def shards(answer: Answer) -> object:
        response = to_response(Manuscript("T", ""), answer, backend.papers, [], versions)
        return response.model_dump()["shards"]

    assert shards(Answer([], 2.0, 3.0)) is None
    assert shards(Answer([], 2.0, 3.0, 8)) == {"answered": 8, "of": 8, "missing": []}
    assert shards(Answer([], 2.0, 3.0, 8, (0, 6))) == {"answered": 6, "of": 8, "missing": [1, 7]}


def test_a_response_has_probabilities_and_notes_a_list_of_improbable_papers(backend: InProcess) -> None:
    query = backend.recommender.query(title="Neural machine translation")
    [best, second] = backend.recommender.recommend(query, Options(top_k=2))
    versions = {"model_version": "5f0c", "index_version": "000001"}

    def response(first: float | None, offset: int = 0) -> RecommendResponse:
        papers = [replace(best, confidence=first), replace(second, confidence=0.02)]
        answer = Answer(papers, 1.0, 1.0)
        return to_response(Manuscript("T", ""), answer, backend.papers, [], versions, offset)

    assert [paper.confidence for paper in response(0.5).papers] == [0.5, 0.02]
    assert response(0.5).note == ""
    assert response(0.05).note == response(None).note == "nothing here fits: no paper reaches 10 %"
    assert response(0.05, offset=20).note == "", "a later page says nothing of the first"


def test_a_response_says_that_the_text_is_unlike_the_corpus_and_notes_it_on_the_first_page(
    backend: InProcess,
) -> None:
    papers = backend.recommender.recommend(backend.recommender.query(title="Parsing"), Options(top_k=2))
    versions = {"model_version": "", "index_version": "000001"}
    answer = Answer(papers, 1.0, 1.0, unlike_corpus=True)
    first, second = (
        to_response(Manuscript("T", ""), answer, backend.papers, [], versions, offset) for offset in (0, 2)
    )
    assert (first.unlike_corpus, second.unlike_corpus) == (True, True)
    assert first.note == "this text is unlike the papers of the corpus, which may hold nothing for it"
    assert second.note == ""


def test_one_paper(backend: InProcess) -> None:
    record = backend.papers.corpus.paper(3)
    paper = to_paper(backend.papers, record.id)
    assert (paper.id, paper.title, paper.year, paper.authors) == (
        record.id,
        record.title,
        record.year,
        list(record.authors),
    )
    assert paper.in_citations == backend.papers.in_citations([3])[0]


NOTHING = Evidence()
SHARED = Evidence(shared_words=(SharedWord("bleu", 4.0),))


@pytest.mark.parametrize(
    ("context", "evidence", "explained", "words"),
    [
        ("TARGETCIT", SHARED, True, "no words"),
        ("12 TARGETCIT 7.", NOTHING, False, "no words"),
        ("qwzzx TARGETCIT", NOTHING, True, "in common"),
        ("qwzzx TARGETCIT", NOTHING, False, None),
        ("BLEU TARGETCIT", SHARED, True, None),
    ],
)
def test_a_list_that_says_little_has_a_warning(
    backend: InProcess, context: str, evidence: Evidence, explained: bool, words: str | None
) -> None:
    [paper] = backend.recommender.recommend(Query("q", title="BLEU"), Options(top_k=1))
    answer = Answer([replace(paper, evidence=evidence)], 1.0, 1.0)
    versions = {"model_version": "m", "index_version": "000001"}
    manuscript = Manuscript("", "", context, 0, 1)
    warning = to_response(manuscript, answer, backend.papers, [], versions, explained=explained).warning
    assert (warning is None) if words is None else (warning is not None and words in warning)
