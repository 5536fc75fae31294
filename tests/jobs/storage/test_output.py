from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.artifacts import write_artifact
from helpers.object_stores import everywhere

from cocite.errors import BusyError, InputError, WriteError
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import check_output_replaceable, training_lock


@everywhere
def test_a_model_may_replace_nothing_and_another_model(remote: str, tmp_path: Path) -> None:
    for location in (Location.of(tmp_path / "model"), Location.of(f"{remote}/model")):
        check_output_replaceable(location)
        location.put(write_artifact(tmp_path / "made"))
        check_output_replaceable(location)


@everywhere
def test_a_model_may_not_replace_other_files(remote: str, tmp_path: Path) -> None:
    for location in (Location.of(tmp_path / "model"), Location.of(f"{remote}/model")):
        location.write("notes.txt", "mine")
        with pytest.raises(
            InputError, match=r"model: is not empty and holds no model, so it is not replaced"
        ):
            check_output_replaceable(location)


@everywhere
def test_two_processes_cannot_train_one_kind_into_a_folder(remote: str, tmp_path: Path) -> None:
    for location in (Location.of(tmp_path / "model"), Location.of(f"{remote}/model")):
        with (
            training_lock(location, "hatten"),
            training_lock(location, "nnselect"),
            pytest.raises(BusyError, match=rf"^{location.uri}: process {os.getpid()} is at work here"),
            training_lock(location, "hatten"),
        ):
            pass
        with training_lock(location, "hatten"):
            pass


def test_a_lock_that_cannot_be_written_names_the_model_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with (
        pytest.raises(WriteError, match=rf"^{tmp_path}: cannot be written: permission denied"),
        training_lock(Location.of(tmp_path), "hatten"),
    ):
        pass
