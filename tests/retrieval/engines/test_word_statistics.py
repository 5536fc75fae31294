"""Statistics of parts add up to those of the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cocite.errors import IntegrityError
from cocite.retrieval.engines.bm25_weights import lucene_idf
from cocite.retrieval.engines.word_statistics import WordStatistics


@given(counts=hnp.arrays(np.int32, (9, 5), elements=st.integers(0, 3)), cut=st.integers(0, 9))
def test_parts_add_up(counts: np.ndarray, cut: int) -> None:
    whole = WordStatistics.of(sp.csr_matrix(counts))
    used = (
        int(np.flatnonzero(counts[:cut].any(axis=0)).max(initial=-1)) + 1
    )  # words known after the first part
    parts = [WordStatistics.of(sp.csr_matrix(part)) for part in (counts[:cut, :used], counts[cut:])]
    total = WordStatistics.total(parts)
    np.testing.assert_array_equal(total.holding, (counts > 0).sum(axis=0))
    np.testing.assert_array_equal(total.idf, whole.idf)
    np.testing.assert_array_equal(total.idf, lucene_idf((counts > 0).sum(axis=0), 9))
    assert total.mean_length == whole.mean_length == (counts.sum() / 9 or 1.0)


def test_no_document_has_a_mean_length_to_divide_by() -> None:
    assert WordStatistics.total([]).mean_length == 1.0


def test_they_are_read_back(tmp_path: Path) -> None:
    written = WordStatistics(np.array([2, 0, 1]), 2, 2**40)
    written.save(tmp_path / "text")
    read = WordStatistics.load(tmp_path / "text")
    assert (read.holding.tolist(), read.documents, read.words) == ([2, 0, 1], 2, 2**40)
    (tmp_path / "text" / "holding.npy").unlink()
    with pytest.raises(IntegrityError, match="not a readable array"):
        WordStatistics.load(tmp_path / "text")
