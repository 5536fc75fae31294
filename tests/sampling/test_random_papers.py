"""Papers drawn from the whole corpus: evenly, and none later than the citing paper where that is asked."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.goodness_of_fit import fits

from cocite.sampling.draws import uniform
from cocite.sampling.random_papers import RandomPapers


@pytest.mark.parametrize("limited", [True, False])
def test_random_papers_are_drawn_evenly_from_those_that_may_be_drawn(
    limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cocite.counting_sort.BLOCK", 3)
    years = np.array([2005, 2001, 0, 2003, 2003, 2001, 2009], np.int16)
    random = RandomPapers(years, later=not limited)
    for citing, allowed in ((3, [1, 2, 3, 4, 5]), (1, [1, 2, 5]), (2, range(7)), (6, range(7))):
        masses = np.zeros(7)
        masses[list(allowed) if limited else slice(None)] = 1
        numbers = uniform(0, citing, np.arange(10_000), 2)
        drawn = random.draw(np.full(10_000, citing), numbers)
        assert fits(drawn.ravel(), masses / masses.sum())
        assert sorted(random.rows(citing).tolist()) == np.flatnonzero(masses).tolist()
