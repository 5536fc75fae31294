"""Inverted lists against the exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cocite.protocols import NO_ROW
from cocite.sampling import neighbour_lists
from cocite.sampling.neighbour_lists import (
    NeighbourLists,
    centroids_of,
    list_count,
    lists_of_rows,
    nearest_lists,
    probes_for,
)
from cocite.sampling.neighbours import nearest


def grouped(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors around a few dozen centres."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(40, 16))[rng.integers(0, 40, count)] + 0.5 * rng.normal(size=(count, 16))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def lists_of(vectors: np.ndarray, pool: np.ndarray, years: np.ndarray | None = None) -> NeighbourLists:
    papers = torch.from_numpy(vectors)
    centroids = centroids_of(papers, list_count(len(pool)), rows=pool)
    owner = lists_of_rows(papers, centroids, slice(0, len(pool)), pool=pool)
    return NeighbourLists.of(vectors, pool, owner, centroids, years=years)


def test_with_all_probes_the_search_is_exhaustive() -> None:
    space, rng = grouped(900), np.random.default_rng(1)
    pool = np.sort(rng.permutation(900)[:700]).astype(np.int32)
    years = rng.integers(2000, 2010, 900).astype(np.int16)
    queries = rng.permutation(900)[:300].astype(np.int32)
    own = np.where(np.arange(300) % 3 == 0, NO_ROW, queries).astype(np.int32)
    limits = {"exclude": own, "latest": years[queries]}
    lists = lists_of(space, pool, years)
    found = lists.search(space[queries], 7, probes=10_000, **limits)
    expected = nearest(space[queries], space, 7, pool=pool, years=years, **limits)
    assert np.array_equal(found.rows, expected.rows)
    assert found.scores == pytest.approx(expected.scores, abs=1e-6)


def test_the_ranks_of_lists_say_what_so_many_probes_find() -> None:
    space = grouped(2000)
    pool = np.arange(0, 2000, 2, dtype=np.int32)
    lists, exact = lists_of(space, pool), nearest(space, space, 10, pool=pool)
    ranks = lists.ranks(space, exact.rows)
    for probes in (1, 3, 8):
        found = lists.search(space, 10, probes=probes).rows
        for query in range(0, 2000, 31):
            wanted = set(exact.rows[query][ranks[query] < probes].tolist())
            assert wanted <= set(found[query].tolist())
            assert not set(exact.rows[query].tolist()) - wanted & set(found[query].tolist())
    probes, recall = probes_for(ranks, 0.95, 1000)
    assert recall >= 0.95 > probes_for(ranks, 0.95, probes - 1)[1]
    assert probes < len(lists.centroids) / 2


def test_where_too_few_papers_are_allowed_the_rest_is_padding() -> None:
    space = grouped(50)
    years = np.arange(50, dtype=np.int16)
    found = lists_of(space, np.arange(50, dtype=np.int32), years).search(
        space[:3], 5, probes=99, latest=np.array([1, 0, 60], np.int16)
    )
    assert sorted(found.rows[0].tolist()) == [NO_ROW] * 3 + [0, 1]
    assert found.rows[1].tolist() == [0] + [NO_ROW] * 4
    assert (found.rows[2] != NO_ROW).all()
    assert lists_of(space, np.arange(50, dtype=np.int32)).search(space[:0], 5, probes=2).rows.shape == (0, 5)


def test_centroids_are_the_same_again_and_none_is_empty_of_sense() -> None:
    papers = torch.from_numpy(grouped(500))
    first, second = (centroids_of(papers, 22) for _ in range(2))
    assert torch.equal(first, second)
    assert first.norm(dim=1).numpy() == pytest.approx(np.ones(22), abs=1e-5)
    same = torch.ones(30, 4) / 2  # all alike: most lists stay empty
    assert centroids_of(same, 5).isfinite().all()
    zeros = torch.zeros(30, 4)
    assert len(nearest_lists(zeros, centroids_of(zeros, 5))) == 30


@pytest.mark.parametrize("at_once", [1, 200])
def test_long_lists_are_compared_with_some_queries_at_a_time(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    space, everything = grouped(400), np.arange(400, dtype=np.int32)
    years = np.random.default_rng(2).integers(2000, 2010, 400).astype(np.int16)
    lists = lists_of(space, everything, years)
    whole = lists.search(space, 6, probes=4, exclude=everything, latest=years)
    monkeypatch.setattr(neighbour_lists, "COMPARED", at_once)
    parts = lists.search(space, 6, probes=4, exclude=everything, latest=years)
    assert np.array_equal(parts.rows, whole.rows)
    assert parts.scores == pytest.approx(whole.scores, abs=1e-6)


def test_the_sample_is_that_of_a_permutation_in_memory() -> None:
    space, pool = grouped(700), np.arange(1, 700, 2, dtype=np.int32)
    papers = torch.from_numpy(space)
    for rows in (None, pool):
        chosen = np.random.default_rng(5).permutation(700 if rows is None else len(rows))
        chosen = chosen if rows is None else rows[chosen]
        # As many lists as vectors: each begins at one of the sample, in its order, and stays there.
        found = centroids_of(papers, len(chosen), seed=5, rows=rows)
        assert torch.allclose(found, papers[torch.from_numpy(np.asarray(chosen, np.int64))], atol=1e-6)


def test_probes_are_bounded() -> None:
    assert probes_for(np.zeros(0, np.int64), 0.95, 4) == (4, 1.0)
    assert probes_for(np.array([0, 0, 9]), 1.0, 50) == (10, 1.0)
    assert probes_for(np.array([3, 3, 3]), 0.5, 2) == (2, 0.0)
