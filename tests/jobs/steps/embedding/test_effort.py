"""What blocks took is added up; utilisation is known only where all of it is."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from cocite.protocols import Embedding
from cocite_jobs.steps.embedding import effort as module
from cocite_jobs.steps.embedding.effort import Effort

ONE = Effort(512, 60_000, 1e12, 10.0, 20.0, 4e12, "float32")


def test_the_total_knows_the_share_of_the_peak_where_all_parts_do() -> None:
    assert Effort.total([ONE, replace(ONE, flops=3e12)]).mfu == pytest.approx(0.5)
    assert Effort.total([ONE, replace(ONE, possible=None)]).mfu is None
    assert replace(ONE, flops=0.0).mfu is None
    assert Effort.total([]).papers == 0
    assert Effort.total([ONE, replace(ONE, precision="bfloat16")]).precision == "bfloat16, float32"


def test_a_record_is_read_back() -> None:
    assert Effort.read({**asdict(ONE), "file": "000000.npy"}) == ONE


def test_an_unknown_peak_gives_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Embedding(np.ones((3, 2), np.float32), tokens=30, flops=1e6)
    assert Effort.of(object(), made, seconds=1, cpu_seconds=2).possible  # type: ignore[arg-type]
    monkeypatch.setattr(module, "device_peak", lambda dtype: None)
    assert Effort.of(object(), made, seconds=1, cpu_seconds=2).mfu is None  # type: ignore[arg-type]
