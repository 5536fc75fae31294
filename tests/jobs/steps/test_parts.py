"""What is recorded of finished parts, here and elsewhere; damaged records are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import IntegrityError
from cocite_jobs.steps.parts import FinishedParts, Part
from cocite_jobs.storage.location import Location

PART = Part("0001", 5, None)


def test_a_record_is_read_back_for_its_key_alone(remote: str, tmp_path: Path) -> None:
    for folder in (Location.of(tmp_path / "parts"), Location.of(remote) / "parts"):
        FinishedParts(folder, "a").add(PART, {"rows": 5})
        assert FinishedParts(folder, "a").read() == {"0001": {"rows": 5}}
        assert FinishedParts(folder, "b").read() == {}


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    finished = FinishedParts(Location.of(tmp_path), "a")
    finished.add(PART, {})
    (tmp_path / "0001.json").write_text('{"key": "a"')
    with pytest.raises(IntegrityError, match=r"0001\.json: is no record of a finished part \(remove it"):
        finished.read()
