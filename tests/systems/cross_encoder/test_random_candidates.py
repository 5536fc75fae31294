"""Candidates from the whole corpus: what is never drawn, how evenly the rest is, and what fills up a group."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.goodness_of_fit import fits
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW
from cocite.sampling.random_papers import RandomPapers
from cocite.systems.cross_encoder.random_candidates import RandomCandidates

YEARS = np.array([2001, 2002, 2003, 2004, 0, 2003, 2001, 2002, 2003, 2002], np.int16)
CITING = 5
"""The paper of every query here, of 2003."""
CITED = [0, 7]
TAKEN = [2, NO_ROW]
EARLIER = [1, 4, 6, 8, 9]
"""What is left of 2003 and before, and of unknown years."""


def drawn(queries: int, count: int, *, later: bool = False, seed: int = 0) -> NDArray[np.int32]:
    cited = CSR(len(CITED) * np.arange(queries + 1), np.tile(np.array(CITED, np.int32), queries))
    outside = RandomCandidates(RandomPapers(YEARS, later=later), np.full(queries, CITING), cited)
    taken = np.tile(np.array(TAKEN, np.int32), (queries, 1))
    return outside.draw(np.arange(queries), taken, count, np.random.default_rng(seed))


@pytest.mark.parametrize(("later", "allowed"), [(False, EARLIER), (True, sorted([*EARLIER, 3]))])
def test_each_pair_of_papers_that_may_be_drawn_is_as_likely_as_another(
    later: bool, allowed: list[int]
) -> None:
    """20,000 queries that are alike, by a chi-squared test; neither later, nor cited, nor in the group already."""
    pairs = drawn(20_000, 2, later=later)
    masses = np.zeros((10, 10))
    masses[np.ix_(allowed, allowed)] = 1
    np.fill_diagonal(masses, 0)
    assert fits(10 * pairs[:, 0] + pairs[:, 1], (masses / masses.sum()).ravel())


def test_where_papers_are_few_all_are_taken_and_the_rest_is_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = drawn(30, 8)
    assert all(sorted(row) == [NO_ROW] * 3 + EARLIER for row in rows.tolist())
    # Enumerated, where drawing finds none.
    monkeypatch.setattr("cocite.systems.cross_encoder.random_candidates.ROUNDS", 0)
    first = drawn(20_000, 1)[:, 0]
    masses = np.zeros(10)
    masses[EARLIER] = 1 / len(EARLIER)
    assert fits(first, masses)


def test_a_draw_is_a_function_of_its_numbers() -> None:
    assert np.array_equal(drawn(50, 3, seed=4), drawn(50, 3, seed=4))
    assert not np.array_equal(drawn(50, 3, seed=4), drawn(50, 3, seed=5))
