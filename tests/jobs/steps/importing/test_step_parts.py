from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.corpus.division.order_range import PLAN, OrderRange
from cocite_jobs.steps.importing.step_parts import StepParts
from cocite_jobs.steps.parts import Part


def test_a_part_is_made_by_its_number(tmp_path: Path) -> None:
    (tmp_path / PLAN).write_text(
        json.dumps({"limits": [0, 0, 1], "contexts": [0, 0, 0], "sentences": [0, 0, 0]})
    )
    work = StepParts(OrderRange(tmp_path, 0, tmp_path, bodies=False))
    assert hash(work) == hash(StepParts(OrderRange(tmp_path, 0, tmp_path, bodies=False)))
    assert work.open()(Part("00001", 1, 1)) == {}
    assert (tmp_path / "00001" / "cites.degrees.npy").exists()
    with pytest.raises(IndexError, match="list index out of range"):
        work.open()(Part("00002", 1, 2))
