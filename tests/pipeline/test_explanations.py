"""Explanations: shared words that say something, and papers and sentences that cite the recommended one."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.pipeline_queries import queries_of

from cocite.corpus.store import Corpus
from cocite.pipeline.evidence import MAX_AUTHORS, Evidence
from cocite.pipeline.explanations import NEIGHBOURS, SENTENCES, WORDS, Explainer, function_words
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Candidates, Options, Stages
from cocite.protocols import NO_ROW, Query, Ranking


@pytest.fixture
def explainer(first: FirstStage) -> Explainer:
    return Explainer(first.index)


def test_the_best_real_papers_come_in_the_order_of_the_last_stage(
    corpus: Corpus, explainer: Explainer
) -> None:
    rows = np.array([[7, 3, NO_ROW, 9]], np.int32)
    last = np.array([[0.5, 0.9, 5.0, 0.9]], np.float32)
    early = np.array([[1.0, np.nan, np.nan, 2.0]], np.float32)
    candidates = Candidates(Ranking(rows, np.zeros((1, 4), np.float32)), {"x": np.zeros((1, 4), np.float32)})
    stages = Stages({"early": early, "late": last}, last)
    for top_k, expected in ((9, [3, 9, 7]), (2, [3, 9])):
        options = Options(top_k=top_k, evidence=False)
        [papers] = explainer.recommendations([Query("q", title="x")], candidates, stages, options)
        assert [paper.row for paper in papers] == expected
        assert all(paper.evidence == Evidence() for paper in papers)
    assert papers[0].stages == {"late": pytest.approx(0.9)}, "a stage that did not score it is left out"
    assert papers[1].stages == {"early": 2.0, "late": pytest.approx(0.9)}
    record = corpus.paper(3)
    assert (papers[0].id, papers[0].authors, papers[0].venue) == (record.id, record.authors, record.venue)


def test_evidence_is_limited_and_of_the_history(
    corpus: Corpus, first: FirstStage, explainer: Explainer, later: list[int]
) -> None:
    queries = queries_of(corpus, later[:6], context=True)
    candidates = first.retrieve(queries, Options(depth=30))
    citations = first.index.history.cites
    quoted = 0
    for position, query in enumerate(queries):
        rows = candidates.ranking.rows[position, :10]
        for row, evidence in zip(
            rows.tolist(), explainer.evidence(query, position, rows, candidates), strict=True
        ):
            words = [word for word, _ in evidence.shared_words]
            assert len(words) <= WORDS
            assert not function_words().intersection(words)
            weights = [weight for _, weight in evidence.shared_words]
            assert weights == sorted(weights, reverse=True)
            assert len(evidence.cited_by) <= NEIGHBOURS
            assert len(evidence.sentences) <= SENTENCES
            for paper in evidence.cited_by:
                assert row in citations[corpus.row(paper.id)]
            for paper in (*evidence.cited_by, *evidence.sentences):
                record = corpus.paper(corpus.row(paper.id))
                assert paper.title == record.title
                assert paper.authors == record.authors[:MAX_AUTHORS]
                assert (paper.year or 0, paper.venue, paper.doi) == (record.year, record.venue, record.doi)
            quoted += len(evidence.sentences)
    assert quoted


def test_without_voters_there_are_words_alone(corpus: Corpus, explainer: Explainer) -> None:
    paper = corpus.paper(5)
    query = Query("q", title=paper.title, abstract=paper.abstract)
    candidates = Candidates(Ranking(np.array([[5]], np.int32), np.zeros((1, 1), np.float32)))
    [evidence] = explainer.evidence(query, 0, np.array([5], np.int32), candidates)
    assert evidence.shared_words
    assert not evidence.cited_by
    assert not evidence.sentences
