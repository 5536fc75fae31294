"""Marks of papers in a version are as many as its papers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.errors import IntegrityError
from cocite.retrieval.index.version_masks import load_mask


def test_marks_are_read_and_checked(tmp_path: Path) -> None:
    np.save(tmp_path / "alive.npy", np.array([True, False]))
    assert load_mask(tmp_path / "alive.npy", 2).tolist() == [True, False]
    with pytest.raises(IntegrityError, match=r"bool \(2,\) where 3 marks belong"):
        load_mask(tmp_path / "alive.npy", 3)
    np.save(tmp_path / "alive.npy", np.array([1, 0]))
    with pytest.raises(IntegrityError, match="int64"):
        load_mask(tmp_path / "alive.npy", 2)
