from __future__ import annotations

import numpy as np
import pytest
from helpers.rankings import PAPERS, rankings
from hypothesis import given
from hypothesis import strategies as st

from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import means
from cocite.evaluation.slices import SelfCitationCounter, by_in_citations, by_label, by_positives
from cocite.protocols import NO_ROW, Ranking

METRICS = ("R@5", "MRR", "P@5", "F1@5")


def same(values, expected):
    assert values.keys() == expected.keys()
    np.testing.assert_allclose(list(values.values()), list(expected.values()))


@given(rankings())
def test_positives_are_the_metrics_of_the_chosen_queries(case):
    ranking, relevant = case
    slices = by_positives(Hits.of(ranking, relevant), METRICS)
    for part, wanted in zip(slices, (lambda n: n == 1, lambda n: n >= 1, lambda n: n >= 2), strict=True):
        chosen = [q for q, rows in enumerate(relevant) if wanted(len(rows))]
        alone = Hits.of(Ranking(ranking.rows[chosen], ranking.scores[chosen]), [relevant[q] for q in chosen])
        assert part.queries == len(chosen)
        same(part.means, means(alone, METRICS))


def test_labels_are_sorted_or_the_largest_first():
    ranking = Ranking(np.array([[1], [2], [3], [4]], np.int32), np.ones((4, 1), np.float32))
    hits = Hits.of(ranking, [[1], [9], [9], [4]])
    parts = by_label(hits, ["b", "a", "a", ""], ["R@1"], prefix="venue ")
    assert [(part.name, part.queries, part.means["R@1"]) for part in parts] == [
        ("venue unknown", 1, 1.0),
        ("venue a", 2, 0.0),
        ("venue b", 1, 1.0),
    ]
    assert [part.name for part in by_label(hits, ["b", "a", "a", ""], ["R@1"], limit=1)] == ["a"]


@given(rankings(), st.integers(0, 99))
def test_in_citations_count_only_their_own_papers_as_relevant(case, seed):
    ranking, relevant = case
    counts = np.random.default_rng(seed).integers(0, 30, PAPERS).astype(np.int32)
    parts = by_in_citations(Hits.of(ranking, relevant), counts, METRICS)
    bounds = [(0, 0), (1, 4), (5, 19), (20, 10**6)]
    for part, (low, high) in zip(parts, bounds, strict=True):
        alone = [[row for row in rows if low <= counts[row] <= high] for rows in relevant]
        assert part.queries == sum(map(bool, alone))
        same(part.means, means(Hits.of(ranking, alone), METRICS))


@given(rankings(), st.integers(0, 99), st.integers(1, 15))
def test_self_citation_ranks_by_their_definition(case, seed, depth):
    ranking, _ = case
    rng = np.random.default_rng(seed)
    authors = [[f"Author {a}" for a in rng.integers(0, 12, rng.integers(0, 4))] for _ in range(PAPERS)]
    queries = [[f"author  {a}" for a in rng.integers(0, 12, rng.integers(0, 4))] for _ in range(len(ranking))]
    counter = SelfCitationCounter(lambda rows: [authors[row] for row in rows], depth)
    half = len(ranking) // 2
    for part in (slice(0, half), slice(half, None)):
        counter.add(queries[part], Ranking(ranking.rows[part], ranking.scores[part]))
    result = counter.result()
    for n in range(1, depth + 1):
        found = []
        for mine, rows in zip(queries, ranking.rows, strict=True):
            names = {" ".join(name.casefold().split()) for name in mine}
            of_query = [
                rank
                for rank, row in enumerate(rows[:n], 1)
                if row != NO_ROW and names & {name.casefold() for name in authors[row]}
            ]
            if of_query:
                found.append(of_query)
        assert result.queries[n - 1] == len(found)
        if found:
            assert result.mean_rank[n - 1] == pytest.approx(np.mean([np.mean(ranks) for ranks in found]))
            assert result.max_rank[n - 1] == pytest.approx(np.mean([max(ranks) for ranks in found]))
        else:
            assert np.isnan(result.mean_rank[n - 1])
