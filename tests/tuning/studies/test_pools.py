"""Pools rank the cited papers as a full ranking does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.evaluation.hits import UNRANKED, Hits
from cocite.protocols import NO_ROW, Ranking
from cocite_tuning.studies.pools import Pool, concatenate, pool_papers, slice_lists

WIDTH = 12


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, CSR]:
    """Scores (Q, N) with ties, and what each query cites."""
    queries = draw(st.integers(1, 4))
    scores = np.array(
        draw(
            st.lists(
                st.lists(st.integers(0, 5), min_size=WIDTH, max_size=WIDTH),
                min_size=queries,
                max_size=queries,
            )
        ),
        np.float32,
    )
    cited = [draw(st.sets(st.integers(0, WIDTH - 1), max_size=4)) for _ in range(queries)]
    owners = np.array([q for q, rows in enumerate(cited) for _ in rows], np.int64)
    rows = np.array([row for rows in cited for row in sorted(rows)], np.int32)
    return scores, CSR.build(owners, rows, queries)


@given(problems(), st.integers(1, WIDTH))
def test_ranks_within_the_depth_are_those_of_the_full_ranking(problem: Any, depth: int) -> None:
    scores, cited = problem
    papers = pool_papers([Ranking.best(scores, depth)], cited)
    owners, rows = papers.pairs()
    ours = Pool(papers, cited, depth).hits(scores[owners, rows])
    theirs = Hits.of(Ranking.best(scores, WIDTH), cited)
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    a, b = (np.where(hits.ranks <= depth, hits.ranks, UNRANKED) for hits in (ours, theirs))
    np.testing.assert_array_equal(a, b)


@given(problems())
def test_a_pool_of_all_papers_is_the_full_ranking(problem: Any) -> None:
    scores, cited = problem
    papers = pool_papers([Ranking.best(scores, WIDTH)], cited)
    owners, rows = papers.pairs()
    ours = Pool(papers, cited, WIDTH).hits(scores[owners, rows])
    theirs = Hits.of(Ranking.best(scores, WIDTH), cited)
    np.testing.assert_array_equal(ours.ranks, theirs.ranks)
    np.testing.assert_array_equal(ours.rows, theirs.rows)


@given(problems(), st.data())
def test_unranked_cells_have_no_rank_and_take_none(problem: Any, data: st.DataObject) -> None:
    scores, cited = problem
    papers = pool_papers([Ranking.best(scores, WIDTH)], cited)
    owners, rows = papers.pairs()
    ranked = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    ours = Pool(papers, cited, WIDTH).hits(scores[owners, rows], ranked)
    dense = np.full(scores.shape, -np.inf, np.float32)
    dense[owners[ranked], rows[ranked]] = scores[owners[ranked], rows[ranked]]
    theirs = Hits.of(Ranking.best(dense, WIDTH), cited)
    np.testing.assert_array_equal(ours.ranks, theirs.ranks)


@given(problems(), st.integers(0, 4), st.integers(0, 4))
def test_a_part_is_what_its_queries_have(problem: Any, start: int, length: int) -> None:
    scores, cited = problem
    papers = pool_papers([Ranking.best(scores, 3)], cited)
    owners, rows = papers.pairs()
    whole = Pool(papers, cited, 3)
    part = slice(min(start, len(cited)), min(start + length, len(cited)))
    values = scores[owners, rows]
    ours = whole.part(part).hits(values[whole.cells(part)])
    chosen = np.zeros(len(cited), bool)
    chosen[part] = True
    theirs = whole.hits(values).queries(chosen)
    np.testing.assert_array_equal(ours.ranks, theirs.ranks)
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)


def test_pools_hold_each_paper_once_and_the_cited_ones_always() -> None:
    rankings = [
        Ranking(np.array([[3, 1, NO_ROW]], np.int32), np.zeros((1, 3), np.float32)),
        Ranking(np.array([[1, 7]], np.int32), np.zeros((1, 2), np.float32)),
    ]
    papers = pool_papers(rankings, CSR.build(np.array([0, 0]), np.array([9, 3]), 1))
    assert papers.indices.tolist() == [1, 3, 7, 9]


def test_pools_come_back_from_disk_and_blocks_can_be_joined(tmp_path: Path) -> None:
    blocks = [
        CSR.build(np.array([0, 0, 1]), np.array([2, 5, 1]), 2),
        CSR.build(np.array([0]), np.array([4]), 1),
    ]
    papers = concatenate(blocks)
    assert papers.indptr.tolist() == [0, 2, 3, 4]
    Pool.save(tmp_path, "pool", papers)
    cited = CSR.build(np.array([0, 2]), np.array([5, 4]), 3)
    pool = Pool.load(tmp_path, "pool", cited, 10)
    assert pool.papers.indices.tolist() == [2, 5, 1, 4]
    assert pool.cells(slice(1, 3)) == slice(2, 4)
    part = slice_lists(papers, slice(1, 3))
    assert (part.indptr.tolist(), part.indices.tolist()) == ([0, 1, 2], [1, 4])
    assert part.indices.base is not None  # no copy
