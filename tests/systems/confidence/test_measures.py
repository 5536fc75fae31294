"""Calibration error, Brier score and bins, against sums written out and properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.systems.confidence.measures import Binning, brier_score, calibration_error, reliability

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def arrays(pairs: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p for p, _ in pairs]), np.array([hit for _, hit in pairs])


@pytest.mark.parametrize("by", ["mass", "width"])
@given(pairs=PAIRS, bins=st.integers(1, 20))
def test_bins_hold_every_pair_once_and_equal_probabilities_together(
    by: Binning, pairs: list[tuple[float, bool]], bins: int
) -> None:
    values, hits = arrays(pairs)
    points = reliability(values, hits, bins=bins, by=by)
    assert sum(point.count for point in points) == len(pairs)
    assert 1 <= len(points) <= bins
    assert sum(point.observed * point.count for point in points) == pytest.approx(hits.sum())
    assert sum(point.predicted * point.count for point in points) == pytest.approx(values.sum())
    assert [point.predicted for point in points] == sorted(point.predicted for point in points)
    error = calibration_error(values, hits, bins=bins, by=by)
    assert abs(values.mean() - hits.mean()) - 1e-9 <= error <= 1 + 1e-9
    order = np.random.default_rng(0).permutation(len(pairs))
    assert calibration_error(values[order], hits[order], bins=bins, by=by) == pytest.approx(error)


def test_the_errors_of_a_small_example() -> None:
    values, hits = np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, True, True, False])
    assert calibration_error(values, hits, bins=2) == pytest.approx((0.35 * 2 + 0.35 * 2) / 4)
    assert calibration_error(values, hits, bins=1) == 0
    assert brier_score(values, hits) == pytest.approx((0.01 + 0.64 + 0.04 + 0.81) / 4)


def test_a_bin_of_equal_width_is_closed_below() -> None:
    points = reliability(np.array([0.5, 0.49, 1.0]), np.array([True, False, True]), bins=2, by="width")
    assert [point.count for point in points] == [1, 2]
