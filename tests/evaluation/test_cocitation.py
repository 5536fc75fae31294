"""Slices by positives and by co-citation frequency, against direct loops."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from helpers.rankings import rankings
from hypothesis import given
from hypothesis import strategies as st

from cocite.evaluation import tasks
from cocite.evaluation.cocitation import (
    ALONE,
    COCITATIONS,
    by_cocitations,
    by_positives,
    largest_cocitations,
    pair_counts,
)
from cocite.evaluation.hits import Hits
from cocite.protocols import Ranking


@pytest.fixture(scope="module")
def case(split_corpus):
    """The dev contexts, random rankings, and what was cited together before."""
    task = tasks.local(split_corpus, "dev")
    rng = np.random.default_rng(0)
    rows = np.stack([rng.permutation(len(split_corpus))[:200] for _ in range(len(task))]).astype(np.int32)
    # Half of the relevant papers stand first, so that the metrics are not all zero.
    for i in range(0, len(task), 2):
        first = task.relevant[i]
        rows[i, : len(first)] = first
    hits = Hits.of(
        Ranking(rows, np.tile(np.arange(200, 0, -1, dtype=np.float32), (len(task), 1))), task.relevant
    )
    return task, hits, tasks.history_before(split_corpus, "dev")


def counted(history) -> Counter[tuple[int, int]]:
    pairs: Counter[tuple[int, int]] = Counter()
    for context in history.contexts.tolist():
        pairs.update(itertools.permutations(history.corpus.context_cited[context].tolist(), 2))
    return pairs


def test_pairs_are_counted_as_a_loop_counts_them(case) -> None:
    _, _, history = case
    pairs = counted(history)
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, len(history.corpus), (2, 300)).astype(np.int32)
    some = list(pairs)[:200]
    first = np.concatenate([first, np.array([a for a, _ in some], np.int32)])
    second = np.concatenate([second, np.array([b for _, b in some], np.int32)])
    expected = [pairs[a, b] for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    np.testing.assert_array_equal(pair_counts(history, first, second), expected)


def test_slices_are_what_a_loop_makes_of_them(case) -> None:
    _, hits, history = case
    pairs = counted(history)
    largest = largest_cocitations(hits, history)
    lists = {q: hits.rows[hits.indptr[q] : hits.indptr[q + 1]].tolist() for q in range(len(hits))}
    expected = [
        max((pairs[paper, other] for other in lists[q] if other != paper), default=ALONE)
        for q in range(len(hits))
        for paper in lists[q]
    ]
    np.testing.assert_array_equal(largest, expected)
    assert {name for name, low, high in COCITATIONS if ((largest >= low) & (largest <= high)).any()} >= {
        "unseen",
        "1",
    }
    ranks = {(q, row): int(rank) for q, row, rank in zip(hits.owners, hits.rows, hits.ranks, strict=True)}
    for part, (_, low, high) in zip(by_cocitations(hits, largest), COCITATIONS, strict=True):
        values = []
        for q, papers in lists.items():
            own = [
                p
                for p in papers
                if len(papers) > 1 and low <= max(pairs[p, o] for o in papers if o != p) <= high
            ]
            if own:
                values.append(sum(ranks[q, p] <= 10 for p in own) / len(own))
        assert part.queries == len(values)
        if values:
            assert part.means["R@10"] == pytest.approx(np.mean(values))


@given(rankings(), st.integers(0, 9))
def test_positives_part_the_queries(drawn, seed) -> None:
    ranking, relevant = drawn
    parts = by_positives(Hits.of(ranking, relevant))
    assert [len(part) for part in parts.values()] == [
        sum(len(rows) == 1 for rows in relevant),
        sum(len(rows) >= 1 for rows in relevant),
        sum(len(rows) >= 2 for rows in relevant),
    ]
