"""Papers are encoded and compared a block at a time, by all ranks, with the result of one exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.many_processes import together

from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.neighbours import nearest
from cocite.training.engine.world import World
from cocite.training.nearest_encoded import nearest_encoded


def space(papers: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(papers, 6)).astype(np.float32)


OWN = np.array([0, 7, NO_ROW, 299, 12], np.int32)


def found(world: World, papers: int, k: int, block: int) -> tuple[Ranking, list[int]]:
    vectors, sizes = space(papers), []

    def encode(rows: np.ndarray) -> np.ndarray:
        sizes.append(len(rows))
        return vectors[rows]

    queries = np.random.default_rng(4).normal(size=(5, 6)).astype(np.float32)
    return nearest_encoded(queries, encode, papers, k, exclude=OWN, world=world, block=block), sizes


def expected(papers: int, k: int) -> Ranking:
    queries = np.random.default_rng(4).normal(size=(5, 6)).astype(np.float32)
    return nearest(queries, space(papers), k, exclude=OWN)


@pytest.mark.parametrize(("k", "block"), [(10, 64), (10, 1000), (100, 30), (400, 70)])
def test_blocks_give_the_ranking_of_all_papers(k: int, block: int) -> None:
    ranking, sizes = found(World(), 300, k, block)
    assert np.array_equal(ranking.rows, expected(300, k).rows)
    assert ranking.scores == pytest.approx(expected(300, k).scores, abs=1e-6)
    assert sum(sizes) == 300
    assert max(sizes) <= block


@pytest.mark.integration
def test_ranks_share_the_papers_and_have_one_ranking() -> None:
    ranks = together(found, 300, 170, 64)
    assert [sum(sizes) for _, sizes in ranks] == [150, 150]
    for ranking, _ in ranks:
        assert np.array_equal(ranking.rows, expected(300, 170).rows)
