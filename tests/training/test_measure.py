from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Ranking
from cocite.training.measure import ranking_metrics


def test_metrics_by_hand() -> None:
    rows = np.array([[5, 1, NO_ROW], [2, 3, 4]], np.int32)
    relevant = CSR.build(np.array([0, 0, 1]), np.array([1, 9, 7]), 2)
    found = ranking_metrics(
        Ranking(rows, np.zeros((2, 3), np.float32)), np.array([0, 1], np.int32), relevant, k=2
    )
    assert found["P@2"] == pytest.approx((0.5 + 0) / 2)
    assert found["R@2"] == pytest.approx((0.5 + 0) / 2)
    assert found["F1@2"] == pytest.approx(0.25)
    assert found["MRR"] == pytest.approx(0.25)
    assert found["recall"] == pytest.approx(0.25)
