"""Papers usually cited together."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.drafts.together import cited_together
from cocite.retrieval.index.index import Index

CORPUS = starter_corpus()


@pytest.fixture(scope="module")
def index() -> Index:
    return Index.build(CORPUS, History.all(CORPUS))


def by_hand(cited: list[int]) -> tuple[Counter[int], Counter[int]]:
    """For each paper: papers that cite it and one of the cited, and their citations of these in all."""
    papers: Counter[int] = Counter()
    shared: Counter[int] = Counter()
    for row in range(len(CORPUS)):
        cites = set(CORPUS.cites[row].tolist())
        both = len(cites & set(cited))
        for other in cites if both else ():
            papers[other] += 1
            shared[other] += both
    return papers, shared


def test_counts_are_those_counted_one_by_one(index: Index) -> None:
    cited = np.argsort(-index.history.in_citations)[:4].tolist()
    papers, shared = by_hand(cited)
    found = cited_together(index, cited, k=1_000)
    assert len(found) == sum(count >= 2 for row, count in papers.items() if row not in cited)
    assert all((one.papers, one.shared) == (papers[one.row], shared[one.row]) for one in found)
    scores = [one.shared / index.history.in_citations[one.row] ** 0.5 for one in found]
    assert scores == sorted(scores, reverse=True)


def test_nothing_that_is_cited_or_later_is_found(index: Index) -> None:
    cited = np.argsort(-index.history.in_citations)[:20].tolist()
    found = cited_together(index, cited, k=1_000, year=2014)
    assert found
    assert not {one.row for one in found} & set(cited)
    assert max(int(CORPUS.years[one.row]) for one in found) <= 2014


def test_a_draft_without_citations_has_no_companions(index: Index) -> None:
    assert cited_together(index, [], k=5) == []
