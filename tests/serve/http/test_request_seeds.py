"""Requests that like and dislike papers: what they get, and how a wrong one is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.api_backend import InProcess, client

from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite_serve.http.papers import Papers
from cocite_serve.http.request_seeds import Seeds, await_rows, find_seeds
from cocite_serve.http.schemas import RecommendRequest

TEXT = {"title": "Neural machine translation", "abstract": "We translate with recurrent networks."}


def some_ids(backend: InProcess, count: int) -> list[str]:
    """Ids of the papers that are cited most."""
    counts = backend.papers.in_citations(range(len(backend.papers.corpus)))
    rows = sorted(range(len(counts)), key=lambda row: -counts[row])
    return list(backend.papers.corpus.ids(rows[:count]))


def test_papers_alone_are_answered(backend: InProcess) -> None:
    likes = some_ids(backend, 3)
    answer = client(backend).post("/v1/recommend", json={"like": likes, "top_k": 5})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["read_as"], found["warning"], len(found["papers"])) == ("seeds", None, 5)
    assert not set(likes) & {paper["id"] for paper in found["papers"]}
    reasons = [seed["id"] for paper in found["papers"] for seed in paper["evidence"]["seeds"]]
    assert set(reasons)
    assert set(reasons) <= set(likes)
    following = {"like": likes, "top_k": 5, "page": found["next"]}
    page = client(backend).post("/v1/recommend", json=following).json()
    assert [paper["rank"] for paper in page["papers"]] == [6, 7, 8, 9, 10]


def test_seeds_steer_a_text(backend: InProcess) -> None:
    likes = some_ids(backend, 3)

    def ids(**seeds: Any) -> list[str]:
        answer = client(backend).post("/v1/recommend", json=TEXT | {"top_k": 20} | seeds)
        assert answer.status_code == 200, answer.text
        return [paper["id"] for paper in answer.json()["papers"]]

    plain = ids()
    assert ids(like=likes) != plain
    assert plain[0] not in ids(dislike=plain[:1])
    assert ids(like=[], dislike=[]) == plain


def test_seeds_may_be_named_by_doi(backend: InProcess) -> None:
    corpus = backend.papers.corpus
    [paper] = [paper for paper in corpus.papers_at(range(len(corpus))) if paper.doi][:1]
    asked = [TEXT | {"dislike": [name]} for name in (paper.id, f"https://doi.org/{paper.doi}")]
    by_id, by_doi = (client(backend).post("/v1/recommend", json=one).json()["papers"] for one in asked)
    assert by_id == by_doi
    assert find_seeds(RecommendRequest(like=[paper.doi]), backend.papers) == Seeds((corpus.row(paper.id),))


@pytest.mark.parametrize(
    ("request_", "field", "words"),
    [
        ({"like": ["no such paper"]}, "like", "the corpus has no paper with the id 'no such paper'"),
        (TEXT | {"dislike": ["no such paper"]}, "dislike", "no paper with the id"),
        ({"like": ["x"] * 51}, "like", "at most 50 papers are allowed, got 51"),
        (TEXT | {"dislike": ["x"] * 51}, "dislike", "at most 50 papers are allowed, got 51"),
        ({"like": ["x" * 2_000]}, "like", "a value may have at most 100 characters"),
        ({"dislike": ["x"]}, "dislike", "give a text, or papers in `like`"),
    ],
)
def test_a_wrong_list_is_refused_in_one_sentence(
    backend: InProcess, request_: dict[str, Any], field: str, words: str
) -> None:
    answer = client(backend).post("/v1/recommend", json=request_)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert words in answer.json()["error"]


def test_one_paper_is_not_in_both_lists(backend: InProcess) -> None:
    [id_] = some_ids(backend, 1)
    answer = client(backend).post("/v1/recommend", json={"like": [id_], "dislike": [id_]})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(f"dislike: {id_!r} is liked, too")


def test_another_index_may_lack_seeds(backend: InProcess) -> None:
    [id_] = some_ids(backend, 1)
    found = find_seeds(RecommendRequest(like=[id_, "gone"]), backend.papers, lenient=True)
    assert backend.papers.corpus.ids(found.like) == [id_]


def test_papers_to_leave_out_are_named_in_every_form(tmp_path: Path) -> None:
    records = [
        PaperRecord("P02-1040", "BLEU: a Method"),
        PaperRecord("W2963403868", "Attention Is All You Need", doi="10.48550/arXiv.1706.03762"),
        PaperRecord("CorpusId:52967399", "BERT", doi="10.18653/v1/N19-1423"),
        PaperRecord("0" * 40, "ELECTRA"),
    ]
    corpus = build(records, tmp_path / "corpus")
    papers = Papers(corpus, np.ones(4, bool))
    names = [
        ("P02-1040", "P02-1040"),
        ("https://aclanthology.org/P02-1040.pdf", "P02-1040"),
        ("gone", ""),
        ("https://openalex.org/W2963403868", "W2963403868"),
        ("arXiv:1706.03762", "W2963403868"),
        ("10.48550/ARXIV.1706.03762", "W2963403868"),
        ("N19-1423", "CorpusId:52967399"),
        ("S2:52967399", "CorpusId:52967399"),
        ("https://www.semanticscholar.org/paper/ELECTRA/" + "0" * 40, "0" * 40),
        ("10.1000/none", ""),
    ]
    rows = asyncio.run(await_rows([name for name, _ in names], papers))
    assert [corpus.ids([row])[0] if row >= 0 else "" for row in rows] == [id_ for _, id_ in names]
    assert asyncio.run(await_rows([], papers)).tolist() == []
