"""Probabilities of scores: what a calibration may hold, and what it says of padding and of ranks beyond its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.artifacts import seal
from cocite.errors import ConfigError, IntegrityError
from cocite.systems.confidence.calibration import (
    FILE,
    KIND,
    Calibration,
    Confidence,
    list_features,
    list_ranks,
)

RISING: dict[str, Any] = {
    "weights": (1.0, 0.2),
    "points": (-2.0, 0.0, 3.0),
    "probabilities": (0.02, 0.2, 0.9),
    "ranks": 4,
    "depth": 300,
}
LISTS = st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=12)


@given(LISTS, st.integers(0, 3))
def test_better_candidates_are_more_probable_and_padding_has_no_probability(
    scores: list[float], padding: int
) -> None:
    row = np.array([[*scores, *[-np.inf] * padding]], np.float32)
    [values] = Calibration(**RISING).probabilities_of(row)
    ranks = list_ranks(row)[0]
    assert np.isnan(values[len(scores) :]).all()
    np.testing.assert_array_equal(np.isnan(values[: len(scores)]), ranks[: len(scores)] >= 4)
    ordered = values[np.argsort(ranks)][: min(4, len(scores))]
    assert (np.diff(ordered) <= 1e-12).all()
    assert ((ordered >= 0.02) & (ordered <= 0.9)).all()


@given(LISTS, st.integers(1, 3))
def test_padding_changes_nothing(scores: list[float], padding: int) -> None:
    plain = np.array([scores])
    padded = np.array([[*scores, *[-np.inf] * padding]])
    np.testing.assert_array_equal(list_features(plain)[0], list_features(padded)[0, : len(scores)])


def test_the_share_is_the_logarithm_of_the_softmax() -> None:
    scores = np.array([[1.0, 3.0, 2.0]])
    expected = np.log(np.exp(scores) / np.exp(scores).sum())
    np.testing.assert_allclose(list_features(scores)[..., 1], expected)


def test_a_list_without_candidates_has_no_probability() -> None:
    assert np.isnan(Calibration(**RISING).probabilities_of(np.full((2, 3), -np.inf))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": (0.0, 0.0, 1.0)}, "do not rise"),
        ({"probabilities": (0.3, 0.2, 0.9)}, "do not rise"),
        ({"probabilities": (0.3, 0.9)}, "3 points have 2 probabilities"),
        ({"probabilities": (0.3, 0.9, 1.2)}, "less than or equal to 1"),
        ({"weights": (1.0,)}, "weights"),
        ({"ranks": 0}, "ranks"),
        ({"depth": 0}, "depth"),
        ({"rerank": -1}, "rerank"),
    ],
)
def test_a_calibration_that_makes_no_sense_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    Confidence(calibrations={"local": {"fusion": Calibration(**RISING)}}).save(tmp_path / "c", {})
    values = json.loads((tmp_path / "c" / FILE).read_text())
    values["calibrations"]["local"]["fusion"] |= change
    (tmp_path / "c" / FILE).write_text(json.dumps(values))
    seal(tmp_path / "c", kind=KIND, meta={})
    with pytest.raises(ConfigError, match=message):
        Confidence.read(tmp_path / "c")


def test_it_is_read_as_it_was_written_and_a_changed_file_is_refused(tmp_path: Path) -> None:
    written = Confidence(calibrations={"global": {"final": Calibration(**RISING, rerank=50)}})
    written.save(tmp_path / "c", {})
    written.save(tmp_path / "c", {})
    assert Confidence.read(tmp_path / "c") == written
    assert written.of("global", "fusion") is None
    (tmp_path / "c" / FILE).write_text("{}")
    with pytest.raises(IntegrityError, match=FILE):
        Confidence.read(tmp_path / "c")
