from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.corpus.links import PAIR, WEIGHTED, bucket_limits, write_csr
from cocite.corpus.spill import PairFile

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60)


@given(PAIRS, st.integers(1, 9), st.booleans())
def test_sorting_on_disk_equals_sorting_in_memory(
    tmp_path: Path, pairs: list[tuple[int, int]], bucket: int, flip: bool
) -> None:
    file = PairFile(tmp_path / "p", PAIR)
    left, right = np.array([a for a, _ in pairs], np.int32), np.array([b for _, b in pairs], np.int32)
    file.write(left, right)
    count = write_csr(file, 10, tmp_path, "x", scratch=tmp_path, flip=flip, bucket=bucket)
    expected = CSR.build(right, left, 10) if flip else CSR.build(left, right, 10)
    assert np.load(tmp_path / "x.indptr.npy").tolist() == expected.indptr.tolist()
    indices = np.load(tmp_path / "x.indices.npy")
    assert indices.dtype == np.int32
    assert indices.tolist() == expected.indices.tolist()
    assert count == len(expected.indices)


@given(PAIRS, st.integers(1, 9))
def test_weights_of_equal_pairs_are_summed(tmp_path: Path, pairs: list[tuple[int, int]], bucket: int) -> None:
    file = PairFile(tmp_path / "p", WEIGHTED)
    weights = np.arange(1, len(pairs) + 1)
    file.write(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]), weights)
    write_csr(file, 10, tmp_path, "w", scratch=tmp_path, bucket=bucket)
    total = Counter[tuple[int, int]]()
    for pair, weight in zip(pairs, weights.tolist(), strict=True):
        total[pair] += weight
    assert np.load(tmp_path / "w.counts.npy").tolist() == [total[pair] for pair in sorted(total)]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30), st.integers(1, 25))
def test_bounds_cut_rows_into_ranges_of_about_one_size(degrees: list[int], size: int) -> None:
    limits = bucket_limits(np.array(degrees), size).tolist()
    assert limits == sorted(set(limits))
    assert limits[-1] == len(degrees)
    starts = [0, *limits[:-1]]
    assert all(sum(degrees[a : b - 1]) <= size for a, b in zip(starts, limits, strict=True))
