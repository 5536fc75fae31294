from __future__ import annotations

from pathlib import Path

import numpy as np
from helpers.citeomatic import periods_of

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnrank.citations_before import CitationsBefore


def test_citations_before_a_year(training_corpus: Corpus) -> None:
    corpus = training_corpus
    history = periods_of(corpus).history
    before = CitationsBefore(history)
    rng = np.random.default_rng(0)
    query, paper = rng.integers(0, len(corpus), (2, 200)).astype(np.int32)
    expected = [
        sum(corpus.years[c] < corpus.years[q] for c in history.cited_by[p])
        for q, p in zip(query, paper, strict=True)
    ]
    assert before(query, paper).tolist() == expected
    assert sum(expected) > 0


def test_a_dated_query_counts_no_citation_of_an_undated_paper(tmp_path: Path) -> None:
    papers = [
        PaperRecord("cited", title="Cited", year=1990),
        PaperRecord("dated", title="Dated", year=1995, citations=("cited",)),
        PaperRecord("undated", title="Undated", citations=("cited",)),
        PaperRecord("query", title="Query", year=2000),
        PaperRecord("early", title="Early", year=1992),
    ]
    corpus = build(papers, tmp_path / "corpus")
    row = {name: corpus.row(name) for name in ("cited", "undated", "query", "early")}
    before = CitationsBefore(History.all(corpus))
    queries = np.array([row["query"], row["early"], row["undated"]], np.int32)
    assert before(queries, np.full(3, row["cited"], np.int32)).tolist() == [1, 0, 1]
    # As an index knows them in that year.
    assert History.until(corpus, 1999).in_citations[row["cited"]] == 1


def test_an_undated_query_knows_all_but_its_own(training_corpus: Corpus) -> None:
    history = History.all(training_corpus)
    before = CitationsBefore(history)
    before._years = np.zeros_like(before._years)
    owners, cited = history.cites.pairs()
    some = np.arange(0, len(owners), 50)
    counts = before(owners[some], cited[some])
    assert counts.tolist() == (history.in_citations[cited[some]] - 1).tolist()
