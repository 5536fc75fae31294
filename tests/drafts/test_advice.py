"""What a draft is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.drafts.advice import Adviser
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.draft import Draft
from cocite.drafts.reading import read_text
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.index import Index

CORPUS = starter_corpus()
DRAFT = """# Neural machine translation

Self-attention replaced recurrence [@vaswani; @unknown; @gone].
Translations are compared with references by BLEU [CIT].
Rare words are split into subword units [@?].

[CIT]
"""


@pytest.fixture(scope="module")
def recommender() -> Recommender:
    return Recommender.over(None, Index.build(CORPUS, History.all(CORPUS)))


@pytest.fixture
def refs(tmp_path: Path) -> Bibliography:
    path = tmp_path / "refs.bib"
    path.write_text(
        "@misc{vaswani, title={Attention Is All You Need}}\n@misc{gone, title={Of another field}}"
    )
    return Bibliography.read([path], CORPUS)


def test_each_gap_gets_what_the_recommender_finds_for_it(recommender: Recommender) -> None:
    draft = read_text(DRAFT, "markdown")
    answers = list(Adviser(recommender, draft).gaps(Options(top_k=3)))
    assert [answer.number for answer in answers] == [1, 2, 3]
    for answer in answers:
        query = recommender.query(title=draft.title, context=answer.gap.context)
        expected = recommender.recommend(query, Options(top_k=3))
        assert [paper.id for paper in answer.papers] == [paper.id for paper in expected]
    assert "Subword" in answers[1].papers[0].title


def test_what_is_cited_is_never_recommended_again(recommender: Recommender, refs: Bibliography) -> None:
    draft = read_text(
        "Self-attention replaced recurrence [@vaswani] by attention is all you need [@?].", "markdown"
    )
    found = list(Adviser(recommender, draft).gaps(Options(top_k=5)))
    assert "Attention Is All You Need" in [paper.title for paper in found[0].papers]
    found = list(Adviser(recommender, draft, refs).gaps(Options(top_k=100)))
    assert "Attention Is All You Need" not in [paper.title for paper in found[0].papers]


def test_what_is_cited(recommender: Recommender, refs: Bibliography) -> None:
    adviser = Adviser(recommender, read_text(DRAFT, "markdown"), refs)
    assert [(one.key, one.title, one.paper is not None) for one in adviser.cited()] == [
        ("vaswani", "Attention Is All You Need", True),
        ("unknown", "", False),
        ("gone", "Of another field", False),
    ]
    companions = adviser.companions(3)
    assert len(companions) == 3
    assert all(one.papers >= 2 for one in companions)


def test_a_gap_without_words_gets_a_sentence(recommender: Recommender) -> None:
    [answer] = Adviser(recommender, read_text("[CIT]", "text")).gaps(Options())
    assert (answer.papers, answer.note) == ((), "there are no words around the gap to search with")


def test_papers_of_the_draft_s_authors_come_earlier(recommender: Recommender) -> None:
    draft = replace(read_text("Words have vectors [CIT].", "text"), authors=("Jeffrey Pennington",))

    def rank(asked: Draft, **options: Any) -> int:
        [answer] = Adviser(recommender, asked, **options).gaps(Options(top_k=100))
        return [paper.id for paper in answer.papers].index("pennington2014glove")

    anonymous = rank(replace(draft, authors=()))
    assert rank(draft) == rank(replace(draft, authors=()), authors=draft.authors) < anonymous
    assert rank(draft, authors=("Some Body",)) == anonymous


def test_no_paper_later_than_the_draft(recommender: Recommender) -> None:
    draft = read_text("Attention replaced recurrence [CIT].", "text")
    [answer] = Adviser(recommender, draft, year=2015).gaps(Options(top_k=10))
    assert answer.papers
    assert max(paper.year for paper in answer.papers) <= 2015
