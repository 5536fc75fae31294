"""When the search is exhaustive, what it finds elsewhere, and that ranks find together what one finds alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.many_processes import together
from helpers.mapped_files import mapped_file
from numpy.typing import NDArray

from cocite.protocols import Ranking
from cocite.sampling.neighbours import nearest
from cocite.training.engine.world import World
from cocite.training.neighbour_search import NeighbourSearch, NeighbourSearchSettings, sampled

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
LISTS = NeighbourSearchSettings(exact_up_to=100, most=1.0)


def space(count: int = 3000) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 12))[rng.integers(0, 60, count)] + 0.6 * rng.normal(size=(count, 12))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def found(world: World, settings: NeighbourSearchSettings) -> tuple[NDArray[np.int32], float, int]:
    """All queries' neighbours, of which each rank searches a part."""
    vectors, queries = space(), np.arange(0, 3000, 2, dtype=np.int32)
    years = np.arange(3000, dtype=np.int16)
    own = queries[world.share(len(queries))]

    def limits(rows: NDArray[np.int32]) -> dict[str, Any]:
        return {"exclude": rows, "latest": years[rows] + np.int16(1000), "years": years}

    some = own[sampled(len(queries), world)]
    search = NeighbourSearch.over(
        *(vectors, vectors[some], 10),
        total=len(queries),
        settings=settings,
        world=world,
        pool=np.arange(1, 3000, 2, dtype=np.int32),
        **limits(some),
    )
    rows = search.nearest(vectors[own], 10, **limits(own)).rows
    return world.concatenate(torch.from_numpy(rows)).numpy(), search.recall, search.probes


def test_the_search_is_exhaustive_up_to_so_many_papers_and_for_few_queries() -> None:
    settings = NeighbourSearchSettings()
    assert settings.is_exact(50_000, 10**9, CPU)
    assert not settings.is_exact(50_001, 10**9, CPU)
    assert settings.is_exact(10**9, 4096, CPU)
    assert settings.is_exact(1_000_000, 10**9, GPU)
    assert not settings.is_exact(1_000_001, 10**9, GPU)
    assert not LISTS.is_exact(101, 5, CPU)


def test_an_exhaustive_search_logs_nothing() -> None:
    vectors = space(200)
    search = NeighbourSearch.over(
        vectors, vectors[:9], 5, total=9, settings=NeighbourSearchSettings(), world=World()
    )
    expected: Ranking = nearest(vectors[:9], vectors, 5)
    assert np.array_equal(search.nearest(vectors[:9], 5).rows, expected.rows)
    assert (search.lists, search.recall, search.metrics) == (None, 1.0, {})


def test_lists_find_the_share_that_they_report() -> None:
    exact, _, _ = found(World(), NeighbourSearchSettings())
    rows, recall, probes = found(World(), LISTS)
    shared = np.mean([np.isin(*pair).mean() for pair in zip(exact, rows, strict=True)])
    assert recall >= 0.95
    assert shared == pytest.approx(recall, abs=0.02)
    _, less, fewer = found(World(), NeighbourSearchSettings(exact_up_to=100, most=0.05))
    assert less < recall
    assert fewer == 1 < probes


def test_autocast_does_not_make_it_coarser() -> None:
    rows, recall, _ = found(World(), LISTS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        again, same, _ = found(World(), LISTS)
    assert np.array_equal(rows, again)
    assert recall == same


@pytest.mark.integration
@pytest.mark.parametrize("settings", [LISTS, NeighbourSearchSettings()], ids=["lists", "exhaustive"])
def test_two_ranks_find_what_one_finds(settings: NeighbourSearchSettings) -> None:
    rows, recall, probes = found(World(), settings)
    for theirs, their_recall, their_probes in together(found, settings):
        assert np.array_equal(theirs, rows)
        assert (their_recall, their_probes) == (recall, probes)


def files(world: World) -> list[str]:
    """The files in which this rank's lists lie."""
    vectors, years = space(), np.arange(3000, dtype=np.int16)
    own = np.arange(3000)[world.share(3000)][sampled(3000, world)]
    search = NeighbourSearch.over(
        *(vectors, vectors[own], 10), total=3000, settings=LISTS, world=world, latest=years[own], years=years
    )
    lists = search.lists
    assert lists is not None
    assert lists.years is not None
    return [
        mapped_file(array) for array in (lists.vectors.numpy(), lists.rows, lists.places, lists.years.numpy())
    ]


@pytest.mark.integration
def test_two_ranks_map_one_copy_of_what_has_a_row_for_each_paper() -> None:
    first, second = together(files)
    assert all("cocite-gathered" in file for file in first)
    assert len(set(first)) == 4
    assert first == second


def test_what_has_a_row_for_each_paper_lies_in_files() -> None:
    assert all("(deleted)" in file for file in files(World()))


@pytest.mark.parametrize(("total", "size"), [(3000, 1), (3000, 2), (100, 3), (2, 5), (0, 2)])
def test_the_sampled_queries_do_not_depend_on_the_ranks(total: int, size: int) -> None:
    parts = [
        world.share(total).start + sampled(total, world)
        for world in (World(rank, size) for rank in range(size))
    ]
    whole = sampled(total, World())
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert len(set(whole.tolist())) == min(total, 512)
