"""Co-citation counts are those of a count one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.retrieval.signals.cocited import count_cocited

CORPUS = starter_corpus()
HISTORY = History.all(CORPUS)
GIVEN = np.argsort(-HISTORY.in_citations)[:3].tolist()


@pytest.mark.parametrize("until", [None, 2018])
def test_counts_are_those_counted_one_by_one(until: int | None) -> None:
    weights = dict(zip(GIVEN, (1.0, 0.5, 0.25), strict=True))
    without = int(HISTORY.cited_by[GIVEN[0]][0])
    papers: Counter[int] = Counter()
    shared: Counter[int] = Counter()
    for row in range(len(CORPUS)):
        cites = CORPUS.cites[row].tolist()
        both = [weights[one] for one in cites if one in weights]
        if not both or row == without or (until and CORPUS.years[row] > until):
            continue
        papers.update(cites)
        for one in cites:
            shared[one] += sum(both)  # type: ignore[assignment]
    found = count_cocited(HISTORY, GIVEN, weights=list(weights.values()), until=until, without=without)
    assert dict(zip(found.rows.tolist(), found.papers.tolist(), strict=True)) == dict(papers)
    np.testing.assert_allclose(found.shared, [shared[row] for row in found.rows.tolist()])


def test_of_too_many_citing_papers_those_that_cite_most_of_the_given_count() -> None:
    citing, counts = np.unique(HISTORY.cited_by.gather(GIVEN)[1], return_counts=True)
    most = citing[counts == counts.max()]
    found = count_cocited(HISTORY, GIVEN, most=len(most))
    expected = np.unique(HISTORY.cites.gather(most)[1])
    np.testing.assert_array_equal(found.rows, expected)


def test_nothing_is_cited_with_nothing() -> None:
    assert len(count_cocited(HISTORY, []).rows) == 0
