"""The compiled loops, each against NumPy or plain Python; the lists' own tests cover them further."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cocite.retrieval.engines import kernels

scores = hnp.arrays(np.float32, st.integers(1, 40), elements=st.sampled_from([0.0, 0.5, 0.5001, 2.0, 9.0]))


@given(scores, st.integers(1, 45), st.data())
def test_the_best_of_the_touched_rows(values: np.ndarray, k: int, data: st.DataObject) -> None:
    touched = np.flatnonzero(values != 0).astype(np.int32)[::-1].copy()
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), bool)
    for mask in (allowed, np.zeros(0, bool)):
        expected = np.where(mask, values, 0) if len(mask) else values
        order = [row for row in np.argsort(-expected, kind="stable") if expected[row] > 0][:k]
        scores = values.copy()
        rows, best = kernels.take_best(scores, touched, values.max(), mask, k)
        assert rows.tolist() == order
        assert best.tolist() == values[order].tolist()
        assert not scores.any()


def test_a_share_that_vanishes_touches_no_row() -> None:
    rows, weights = np.array([0, 0], np.int32), np.array([1e-30, 1e-30], np.float32)
    scores, touched = np.zeros(1, np.float32), np.zeros(2, np.int32)
    factors = np.full(1, 1e-30, np.float32)
    args = (np.array([0, 2]), rows, weights, np.array([0]), factors, np.array([2]), scores, touched)
    assert kernels.accumulate(*args) == (0, 0)


@given(st.lists(st.sampled_from([9.0, 4.0, 2.0, 1.0, 0.5]), min_size=1, max_size=70), st.integers(0, 9))
def test_postings_that_reach_a_weight_stand_first(values: list[float], before: int) -> None:
    weights = np.array([5.0] * before + sorted(values, reverse=True) + [5.0], np.float32)
    indptr = np.array([0, before, before + len(values)])
    for least in (0.1, 0.5, 1.0, 3.0, 9.0, 10.0):
        assert kernels._reaching(indptr, weights, 1, least) == sum(value >= least for value in values)


def test_entries_of_lists_are_summed_in_64_bits() -> None:
    indptr, entries = np.array([0, 2, 5]), np.array([1, 4, 0, 1, 2], np.int32)
    listed = kernels.list_entries(indptr, entries, np.array([1, 0, 1]))
    assert sorted((int(n) >> 32, int(n) & 0xFFFFFFFF) for n in listed) == [
        *((0, 0), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 2), (4, 1))
    ]
    found, sums = kernels.sum_entries(np.sort(listed), np.array([16777216.0, 1.0, 1.0], np.float32))
    assert found.tolist() == [0, 1, 2, 4]
    assert sums.tolist() == [16777216.0, 16777218.0, 16777216.0, 1.0]


@given(st.lists(st.binary(max_size=20), max_size=9))
def test_hashes_are_those_of_fnv_1a(texts: list[bytes]) -> None:
    expected = []
    for text in texts:
        value = 0xCBF29CE484222325
        for byte in text:
            value = (value ^ byte) * 0x100000001B3 % 2**64
        expected.append(value)
    offsets = np.cumsum([0, *map(len, texts)])
    assert kernels.hash_texts(offsets, np.frombuffer(b"".join(texts), np.uint8)).tolist() == expected
