"""Links among papers against counting them one by one."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import Corpus
from cocite.retrieval.signals import links_among as module
from cocite.retrieval.signals.links_among import links_among


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return starter_corpus()


def counted(history: History, rows: list[int]) -> tuple[list[list[int]], list[list[int]]]:
    """Citations and co-citations, by sets."""
    cites = [set(history.cites[row].tolist()) for row in range(len(history.corpus))]
    citations = [[a, b] for a, b in permutations(range(len(rows)), 2) if rows[b] in cites[rows[a]]]
    both = {
        (a, b): sum({rows[a], rows[b]} <= cited for cited in cites)
        for a, b in combinations(range(len(rows)), 2)
    }
    return sorted(citations), [[a, b, count] for (a, b), count in both.items() if count]


@pytest.mark.parametrize("year", [None, 2015])
@pytest.mark.parametrize("block", [1, 7, 16_384])
def test_all_links_are_found_and_counted(
    corpus: Corpus, year: int | None, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    history = History.all(corpus) if year is None else History.until(corpus, year)
    rows = np.random.default_rng(3).permutation(np.argsort(-history.in_citations)[:40]).tolist()
    found = links_among(history, rows)
    citations, cocitations = counted(history, rows)
    assert found.citations.tolist() == citations
    assert found.cocitations.tolist() == cocitations
    assert citations
    assert cocitations
    assert found.uncounted.tolist() == []


def test_papers_with_too_many_citations_are_named_and_the_others_counted(corpus: Corpus) -> None:
    history = History.all(corpus)
    rows = np.argsort(-history.in_citations, kind="stable")[:12].tolist()
    degrees = history.in_citations[rows]
    most = int(degrees.sum() - degrees[0])
    found = links_among(history, rows, most=most)
    assert found.uncounted.tolist() == [0]
    _, cocitations = counted(history, rows)
    assert found.cocitations.tolist() == [pair for pair in cocitations if 0 not in pair[:2]]
    assert found.citations.tolist() == links_among(history, rows).citations.tolist()
    assert len(links_among(history, rows, most=0).uncounted) == 12


def test_of_no_paper_and_of_one_there_are_no_links(corpus: Corpus) -> None:
    history = History.all(corpus)
    for rows in ([], [int(np.argmax(history.in_citations))]):
        found = links_among(history, rows)
        assert (len(found.citations), len(found.cocitations), len(found.uncounted)) == (0, 0, 0)
