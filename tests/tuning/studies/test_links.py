"""Components of one model folder that are put into another."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.artifacts import publish, verify
from cocite_jobs.storage.location import Location
from cocite_tuning.studies.links import put_components


@pytest.fixture
def source(tmp_path: Path) -> Location:
    for name in ("nnselect", "nnrank"):
        with publish(tmp_path / "source" / name, kind=name, meta={}) as folder:
            (folder / "weights").write_text(f"of {name}")
    (tmp_path / "source" / "notes").mkdir()
    return Location.of(tmp_path / "source")


@pytest.fixture(params=["local", "remote"])
def folder(request: pytest.FixtureRequest, remote: str, tmp_path: Path) -> Location:
    return Location.of(tmp_path / "trial" if request.param == "local" else f"{remote}/trial")


def test_the_components_that_are_wanted_come_whole(
    source: Location, folder: Location, tmp_path: Path
) -> None:
    put_components(folder, source, lambda name: name == "nnselect")
    assert folder.names() == ["nnselect"]
    (folder / "nnselect").get(tmp_path / "back")
    assert verify(tmp_path / "back").digest == verify(tmp_path / "source" / "nnselect").digest


def test_what_is_there_stays_and_what_is_no_artifact_is_not_put(source: Location, folder: Location) -> None:
    put_components(folder, source, lambda name: name == "nnrank")
    (folder / "nnrank").write("weights", "of an earlier trial")
    put_components(folder, source, lambda _: True)
    assert folder.names() == ["nnrank", "nnselect"]
    assert (folder / "nnrank").read("weights") == b"of an earlier trial"


def test_components_of_one_machine_are_links(source: Location, tmp_path: Path) -> None:
    put_components(Location.of(tmp_path / "trial"), source, lambda _: True)
    put, kept = (tmp_path / name / "nnselect" / "weights" for name in ("trial", "source"))
    assert put.samefile(kept)
