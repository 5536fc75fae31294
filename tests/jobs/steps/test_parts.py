"""What is recorded of finished parts, here and elsewhere; damaged records are named."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from helpers.object_stores import everywhere

from cocite.errors import IntegrityError
from cocite_jobs.steps.parts import FinishedParts, Part
from cocite_jobs.storage.location import Location

PART = Part("0001", 5, None)


def test_a_record_is_read_back_for_its_key_alone(remote: str, tmp_path: Path) -> None:
    for folder in (Location.of(tmp_path / "parts"), Location.of(remote) / "parts"):
        FinishedParts(folder, "a").add(PART, {"rows": 5})
        assert FinishedParts(folder, "a").read() == {"0001": {"rows": 5}}
        assert FinishedParts(folder, "b").read() == {}


@everywhere
def test_records_elsewhere_are_read_many_at_a_time(remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer comes when a second one was asked for."""
    finished = FinishedParts(Location.of(remote), "a")
    parts = [Part(f"{number:04d}", 1) for number in range(30)]
    for part in parts:
        finished.add(part, {"rows": part.name})
    read, together = Location.read, threading.Barrier(2)

    def slowly(location: Location, name: str) -> bytes | None:
        together.wait(10)
        return read(location, name)

    monkeypatch.setattr(Location, "read", slowly)
    assert finished.read() == {part.name: {"rows": part.name} for part in parts}


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    finished = FinishedParts(Location.of(tmp_path), "a")
    finished.add(PART, {})
    (tmp_path / "0001.json").write_text('{"key": "a"')
    with pytest.raises(IntegrityError, match=r"0001\.json: is no record of a finished part \(remove it"):
        finished.read()
