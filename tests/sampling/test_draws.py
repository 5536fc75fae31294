from __future__ import annotations

import numpy as np
from scipy import stats

from cocite.sampling.draws import Draws, uniform


def test_numbers_hang_on_seed_epoch_example_and_place_alone() -> None:
    draws = Draws(1, 2, np.arange(50))
    numbers = draws.uniform(7)
    assert np.array_equal(Draws(1, 2, np.array([9, 3])).uniform(7), numbers[[9, 3]])
    assert np.array_equal(draws.take(np.array([9, 3])).uniform(7), numbers[[9, 3]])
    assert np.array_equal(draws.uniform(3, start=4), numbers[:, 4:])
    assert np.array_equal(draws.at(np.array([9, 3, 3]), np.array([0, 6, 1])), numbers[[9, 3, 3], [0, 6, 1]])
    assert np.array_equal(uniform(1, 2, np.arange(50), 7), numbers)
    for other in (Draws(0, 2, np.arange(50)), Draws(1, 3, np.arange(50)), draws.of(1)):
        assert not (other.uniform(7) == numbers).any()


def test_parts_of_an_example_have_numbers_of_their_own() -> None:
    parts = Draws(0, 0, np.array([4, 0, 7])).each(3)
    assert len(parts) == 9
    assert len(np.unique(parts.uniform(5))) == 45
    assert np.array_equal(Draws(0, 0, np.array([7])).each(3).uniform(5), parts.uniform(5)[6:])


def test_numbers_are_even_along_every_axis() -> None:
    for numbers in (
        Draws(0, 0, np.arange(20_000)).uniform(1)[:, 0],
        Draws(0, 0, np.array([5])).uniform(20_000)[0],
        np.concatenate([Draws(0, epoch, np.array([5])).uniform(1)[0] for epoch in range(2_000)]),
        np.concatenate([Draws(seed, 0, np.array([5])).uniform(1)[0] for seed in range(2_000)]),
        np.concatenate([Draws(0, 0, np.array([5]), stream).uniform(1)[0] for stream in range(2_000)]),
    ):
        assert stats.kstest(numbers, "uniform").pvalue > 1e-3
        assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 4 / np.sqrt(len(numbers))
