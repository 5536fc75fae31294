"""Citations by year against a count of each link, and that nothing later than a manuscript is counted."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.systems.baselines.citation_years import CitationYears


@pytest.fixture(scope="module")
def history(citing_corpus: Corpus) -> History:
    return tasks.history_before(citing_corpus, "dev")


def counted(history: History, paper: int, year: int, last: int) -> list[float]:
    """The features of a paper, from a list of all links."""
    citing, cited = history.cites.pairs()
    corpus = history.corpus
    now = min(year, history.year + 1)
    years = [int(corpus.years[c]) for c, d in zip(citing, cited, strict=True) if d == paper]
    apart = [
        -1.0 if y < corpus.years[paper] else float(np.log1p(years.count(y)))
        for y in range(now - 1, now - 1 - last, -1)
    ]
    return [*apart, float(np.log1p(sum(y < now for y in years)))]


def test_features_are_counts_of_links(history: History, citing_corpus: Corpus) -> None:
    made = CitationYears(history, last=3)
    rows = np.argsort(-history.in_citations, kind="stable")[:15].astype(np.int64)
    years = np.unique(citing_corpus.years).astype(np.int64)
    features = made.features(rows[:, None], years[None])
    assert features.shape == (15, len(years), made.width) == (15, len(years), 4)
    for i, row in enumerate(rows.tolist()):
        for j, year in enumerate(years.tolist()):
            np.testing.assert_allclose(features[i, j], counted(history, row, year, 3), rtol=1e-6)
    assert (features > 0).any()
    assert (features == -1).any()


def test_links_of_a_year_count_from_the_next_one_on(citing_corpus: Corpus) -> None:
    """A paper's own links, and those of papers of its year or later, change nothing that it reads."""
    corpus = citing_corpus
    year = int(np.median(corpus.years))
    early, late = (History(corpus, corpus.years <= until) for until in (year - 1, int(corpus.years.max())))
    rows, years = np.arange(len(corpus)), np.full(len(corpus), year)
    of_late = CitationYears(late, last=2).features(rows, years)
    np.testing.assert_array_equal(of_late, CitationYears(early, last=2).features(rows, years))
    assert (late.in_citations > early.in_citations).any()


def test_after_the_history_it_is_always_the_year_after_it(history: History) -> None:
    made, rows = CitationYears(history, last=2), np.arange(40)
    next_year, later, unknown = (
        made.features(rows, np.full(40, year)) for year in (history.year + 1, history.year + 9, 0)
    )
    np.testing.assert_array_equal(next_year, later)
    np.testing.assert_array_equal(next_year, unknown)


def test_without_links_nothing_was_cited(citing_corpus: Corpus) -> None:
    made = CitationYears(History(citing_corpus, np.zeros(len(citing_corpus), bool)), last=2)
    assert made.features(np.arange(5), np.full(5, 2010))[:, -1].tolist() == [0.0] * 5
