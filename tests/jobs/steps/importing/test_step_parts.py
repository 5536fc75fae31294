from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.corpus.division.order_range import RANGES, OrderRange
from cocite.corpus.division.runs import INDEX
from cocite_jobs.steps.importing.step_parts import StepParts
from cocite_jobs.steps.parts import Part
from cocite_jobs.storage.location import Location


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_part_is_made_by_its_number(elsewhere: bool, remote: str, tmp_path: Path) -> None:
    folder = Location.of(remote if elsewhere else str(tmp_path))
    step = OrderRange("divided", bodies=False)
    plan = {"limits": [0, 0, 1], "contexts": [0, 0, 0], "sentences": [0, 0, 0]}
    (folder / step.shared).write(RANGES, json.dumps(plan))
    (folder / step.shared).write(INDEX, b"")
    work = StepParts(step, folder)
    assert hash(work) == hash(StepParts(OrderRange("divided", bodies=False), folder))
    assert work.open()(Part("00001", 1, 1)) == {}
    assert "cites.degrees.npy" in (folder / "divided/ordered/00001").names()
    with pytest.raises(IndexError, match="list index out of range"):
        work.open()(Part("00002", 1, 2))
