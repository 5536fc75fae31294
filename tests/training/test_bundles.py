from __future__ import annotations

import numpy as np
import pytest
from helpers.many_processes import together
from helpers.mapped_files import mapped_file
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.training.bundles import Bundles
from cocite.training.engine.world import World


def drawn_at_once(citing: NDArray[np.int32], size: int, seed: int, epoch: int) -> CSR:
    """The contexts of each example, from one permutation of all contexts sorted by paper."""
    drawn = np.random.default_rng([seed, epoch]).permutation(len(citing))
    order = drawn[np.argsort(citing[drawn], kind="stable")]
    papers = citing[order]
    begins = np.diff(papers, prepend=-1) != 0
    within = np.arange(len(order)) - np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    number = np.cumsum(within % size == 0) - 1
    return CSR.build(number, order, int(number[-1]) + 1)


@pytest.fixture(scope="module")
def citing() -> NDArray[np.int32]:
    counts = np.random.default_rng(0).integers(0, 9, 400)
    return np.repeat(np.arange(400, dtype=np.int32), counts)


@pytest.mark.parametrize("size", [1, 3, 50])
@pytest.mark.parametrize("block", [1, 40, 1 << 18])
def test_bundles_are_those_of_one_permutation(
    citing: NDArray[np.int32], size: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cocite.training.bundles.BLOCK", block)
    values = np.random.default_rng(1).integers(0, 300, len(citing)).astype(np.int32)
    for epoch in (0, 1):
        expected = drawn_at_once(citing, size, 5, epoch)
        bundles = Bundles(citing, size, seed=5, epoch=epoch)
        examples = np.arange(len(bundles))
        owner, contexts = bundles.gather(examples)
        assert np.array_equal(owner, np.repeat(examples, expected.degrees))
        assert np.array_equal(contexts, expected.indices)
        assert np.array_equal(bundles.degrees(examples), expected.degrees)
        assert np.array_equal(bundles.citing(examples), citing[expected.indices[expected.indptr[:-1]]])
        assert bundles.sums(values).tolist() == [
            values[row].sum() for row in map(expected.__getitem__, examples)
        ]
        part = slice(len(bundles) // 3, len(bundles) // 2)
        assert np.array_equal(bundles.sums(values, part), bundles.sums(values)[part])
        some = np.array([7, 2, 7, len(bundles) - 1])
        owner, contexts = bundles.gather(some)
        assert [contexts[owner == i].tolist() for i in range(4)] == [expected[i].tolist() for i in some]


def test_another_epoch_draws_others_but_as_many(citing: NDArray[np.int32]) -> None:
    first, second = (Bundles(citing, 3, seed=0, epoch=epoch) for epoch in (0, 1))
    assert len(first) == len(second)
    assert not np.array_equal(first.gather(np.arange(90))[1], second.gather(np.arange(90))[1])


def made_together(world: World, citing: NDArray[np.int32]) -> tuple[list[list[int]], list[str]]:
    bundles = Bundles(citing, 3, seed=5, epoch=1, world=world)
    tables = (bundles._first, bundles._example, bundles._place)
    gathered = [part.tolist() for part in bundles.gather(np.arange(len(bundles)))]
    return gathered, [mapped_file(table) for table in tables]


@pytest.mark.integration
def test_ranks_map_one_copy_of_what_one_makes(citing: NDArray[np.int32]) -> None:
    expected, alone = made_together(World(), citing)
    ranks = together(made_together, citing)
    for found, files in ranks:
        assert found == expected
        assert files == ranks[0][1]
        assert all("cocite-gathered" in file for file in files)
    assert all(file.endswith("(deleted)") for file in alone)  # a process alone has files, too


def test_no_contexts_make_no_bundles() -> None:
    empty = Bundles(np.zeros(0, np.int32), 4, seed=0, epoch=0)
    assert len(empty) == 0
    assert empty.sums(np.zeros(0, np.int32)).tolist() == []
