"""The examples of a learned fusion: candidates with their labels, and which queries are held out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.systems.learned_fusion.examples import (
    BATCH,
    MEASURED,
    collect_examples,
    held_out_parts,
    relevance_labels,
    reserved_queries,
)


class NumberedCandidates:
    """The candidates of query ``q`` are the rows q, q + 1 and q + 2; a signal is their row."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def find(self, queries: Sequence[Query]) -> tuple[Ranking, dict[str, NDArray[np.float32]]]:
        self.batches.append(len(queries))
        rows = np.array([[int(query.id) + i for i in range(3)] for query in queries], np.int32)
        scores = rows.astype(np.float32)
        return Ranking(rows, scores), {"row": scores, "row/rank": -scores, "votes": scores}


def test_batches_are_joined_in_the_order_of_the_queries() -> None:
    count = BATCH + 7
    queries = [Query(str(i), paper=i // 2) for i in range(count)]
    cited = CSR.build(np.arange(count), np.arange(count) + np.arange(count) % 5, count)
    source, advanced = NumberedCandidates(), []
    data = collect_examples(source, queries, cited, without=("row/",), advance=advanced.append)
    assert source.batches == advanced == [BATCH, 7]
    assert set(data.signals) == {"row", "votes"}
    np.testing.assert_array_equal(data.signals["row"][:, 0], np.arange(count))
    expected = np.arange(3)[None] == (np.arange(count) % 5)[:, None]
    np.testing.assert_array_equal(data.relevant, expected)
    assert data.counts.tolist() == [1] * count
    assert data.papers.tolist() == [i // 2 for i in range(count)]
    some = data.take(np.array([4, 0]))
    assert some.papers.tolist() == [2, 0]
    np.testing.assert_array_equal(some.signals["row"], data.signals["row"][[4, 0]])


@given(
    st.lists(st.lists(st.integers(NO_ROW, 9), min_size=4, max_size=4), min_size=1, max_size=5),
    st.lists(st.sets(st.integers(0, 12)), min_size=5, max_size=5),
)
def test_labels_equal_set_membership(rows: list[list[int]], cited: list[set[int]]) -> None:
    lists = [sorted(papers) for papers in cited[: len(rows)]]
    indptr = np.cumsum([0, *map(len, lists)])
    entries = np.array([row for papers in lists for row in papers], np.int32)
    ranking = Ranking(np.array(rows, np.int32), np.zeros((len(rows), 4), np.float32))
    expected = [[row in papers for row in query] for query, papers in zip(rows, lists, strict=True)]
    assert relevance_labels(ranking, indptr, entries).tolist() == expected


@given(st.integers(1, 400), st.sampled_from([0.05, 0.2, 0.5]), st.integers(0, 5))
def test_parts_share_no_manuscript_and_are_enough_or_all(queries: int, share: float, seed: int) -> None:
    papers = np.random.default_rng(seed).integers(0, 1 + queries // 2, queries).astype(np.int32)
    parts = held_out_parts(papers, share, seed)
    taken = np.concatenate([np.unique(papers[part]) for part in parts]) if parts else np.zeros(0)
    assert len(taken) == len(np.unique(taken))
    if parts:
        assert parts[0].tolist() == np.flatnonzero(reserved_queries(papers, share, seed)).tolist()
        left = len(np.unique(papers)) - len(taken)
        assert sum(map(len, parts)) >= MEASURED or left < len(np.unique(papers[parts[0]]))
        assert sum(map(len, parts[:-1])) < MEASURED


def test_a_reserve_keeps_manuscripts_whole() -> None:
    papers = np.repeat(np.arange(50, dtype=np.int32), 4)
    kept = reserved_queries(papers, 0.3, seed=1)
    assert kept.sum() == 60
    assert len(np.unique(papers[kept])) == 15
    assert np.array_equal(kept, reserved_queries(papers, 0.3, seed=1))
    assert not np.array_equal(kept, reserved_queries(papers, 0.3, seed=2))
    assert not reserved_queries(papers, 0.0, 1).any()
    assert reserved_queries(papers, 1.0, 1).all()
