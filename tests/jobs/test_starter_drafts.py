from __future__ import annotations

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.corpus.starter.drafts import starter_drafts
from cocite.drafts.advice import Adviser
from cocite.drafts.reading import read_draft
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.index import Index
from cocite_jobs.starter_drafts import DEPTH, ExpectedPaper, rank_expected


def test_the_ranks_are_those_of_the_answers() -> None:
    corpus = starter_corpus()
    recommender = Recommender.over(None, Index.build(corpus, History.all(corpus)))
    found = rank_expected(recommender)
    assert [(paper.draft, paper.gap) for paper in found] == [
        (draft.path.name, gap) for draft in starter_drafts() for gap in range(1, 1 + len(draft.expected))
    ]
    for draft in starter_drafts():
        answers = list(Adviser(recommender, read_draft(draft.path)).gaps(Options(top_k=DEPTH)))
        ranks = [paper.rank for paper in found if paper.draft == draft.path.name]
        assert any(ranks), "the untrained first stage finds some of them"
        for answer, expected, rank in zip(answers, draft.expected, ranks, strict=True):
            others = [paper.id for paper in answer.papers]
            assert expected not in others if rank is None else others[rank - 1] == expected


def test_a_paper_that_is_not_found_has_no_number() -> None:
    assert ExpectedPaper("a.tex", 1, "A title", None).rank_text == f"after {DEPTH}"
    assert ExpectedPaper("a.tex", 1, "A title", 7).rank_text == "7"
