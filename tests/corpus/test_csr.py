from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus import csr as csr_module
from cocite.corpus.csr import CSR

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60)


@pytest.fixture(params=[csr_module.BLOCK, 3, 1])
def _block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are looked at together: more than there are, a few, and one."""
    monkeypatch.setattr(csr_module, "BLOCK", request.param)


@given(PAIRS)
def test_csr_holds_the_distinct_pairs(pairs: list[tuple[int, int]]) -> None:
    csr = CSR.build([a for a, _ in pairs], [b for _, b in pairs], 10)
    expected = [sorted({b for a, b in pairs if a == row}) for row in range(10)]
    assert [csr[row].tolist() for row in range(10)] == expected
    assert csr.degrees.tolist() == [len(entries) for entries in expected]
    rows = [3, 0, 3, 9]
    assert csr.degrees_of(np.array(rows)).tolist() == [len(expected[row]) for row in rows]
    owner, entries = csr.gather(rows)
    assert [entries[owner == i].tolist() for i in range(4)] == [expected[row] for row in rows]
    there = csr.contains(np.arange(10)[:, None], np.arange(-1, 12))
    assert there.tolist() == [[value in expected[row] for value in range(-1, 12)] for row in range(10)]
    places = csr.find(np.arange(10)[:, None], np.arange(-1, 12))
    assert np.array_equal(places >= 0, there)
    row, column = np.nonzero(there)
    assert np.array_equal(csr.indices[places[there]], column - 1)
    assert ((csr.indptr[row] <= places[there]) & (places[there] < csr.indptr[row + 1])).all()
    back = csr.transpose().transpose()
    assert np.array_equal(back.indptr, csr.indptr)
    assert np.array_equal(back.indices, csr.indices)


@pytest.mark.usefixtures("_block")
@given(PAIRS, st.integers(0, 2**32 - 1))
def test_marked_entries_are_kept_in_their_rows(pairs: list[tuple[int, int]], seed: int) -> None:
    csr = CSR.build([a for a, _ in pairs], [b for _, b in pairs], 10)
    marks = np.random.default_rng(seed).random(len(csr.indices)) < 0.5
    owner, entries = csr.pairs()
    expected = CSR.build(owner[marks], entries[marks], 10)
    kept = csr.keep(marks)
    np.testing.assert_array_equal(kept.indptr, expected.indptr)
    np.testing.assert_array_equal(kept.indices, expected.indices)


@pytest.mark.usefixtures("_block")
@given(PAIRS, st.integers(0, 2**32 - 1))
def test_occurrences_of_entries_are_counted_over_all_rows_and_over_marked_ones(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    csr = CSR.build([a for a, _ in pairs], [b for _, b in pairs], 10)
    marks = np.random.default_rng(seed).random(10) < 0.5
    owner, entries = csr.pairs()
    assert csr.occurrences(10).tolist() == np.bincount(entries, minlength=10).tolist()
    assert csr.occurrences(10, marks).tolist() == np.bincount(entries[marks[owner]], minlength=10).tolist()
