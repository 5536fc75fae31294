from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cocite.artifacts import publish
from cocite.errors import InputError, IntegrityError
from cocite.manifests import read_manifest
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.registration import artifact_folders, register_model
from cocite_mlflow.runs import start_run


def model(folder: Path, weight: str = "one", kind: str = "nnselect") -> Path:
    with publish(folder / kind, kind=kind, meta={}) as artifact:
        (artifact / "model.safetensors").write_text(weight)
    return folder


def test_each_registration_is_the_next_version_and_moves_the_alias(
    tracking: TrackingSettings, client: Any, tmp_path: Path
) -> None:
    folders = [model(tmp_path / weight, weight) for weight in ("one", "two")]
    assert [register_model(folder, "ours", "champion", tracking=tracking) for folder in folders] == [1, 2]
    assert client.get_model_version_by_alias("ours", "champion").version == 2
    first = client.get_model_version("ours", "1")
    digest = read_manifest(folders[0] / "nnselect").digest
    assert first.tags == {"artifact.nnselect": f"nnselect {digest}"}
    experiment = client.get_run(first.run_id).info.experiment_id
    assert client.get_experiment(experiment).name == "models"


def test_a_version_belongs_to_the_run_that_it_is_given(
    tracking: TrackingSettings, client: Any, tmp_path: Path
) -> None:
    with start_run("train", experiment="tests", tracking=tracking) as run:
        register_model(model(tmp_path), "of-a-run", "champion", run=run)
    assert client.get_model_version("of-a-run", "1").run_id == run.id


def test_what_a_training_left_beside_the_model_is_not_registered(
    tracking: TrackingSettings, client: Any, tmp_path: Path
) -> None:
    folder = model(model(tmp_path / "model"), kind=".nnrank.checkpoint")
    (folder / ".nnrank.checkpoint" / "model.safetensors").write_text("damaged")
    (folder / "notes.txt").write_text("kept")
    assert artifact_folders(folder) == {"nnselect": folder / "nnselect"}
    register_model(folder, "hidden", "champion", tracking=tracking)
    version = client.get_model_version("hidden", "1")
    assert list(version.tags) == ["artifact.nnselect"]
    files = [file.path for file in client.list_artifacts(version.run_id, "model")]
    assert sorted(files) == ["model/nnselect", "model/notes.txt"]


def test_a_folder_that_is_an_artifact_itself(tmp_path: Path) -> None:
    folder = model(tmp_path) / "nnselect"
    assert artifact_folders(folder) == {".": folder}


def test_a_damaged_model_is_not_registered(tracking: TrackingSettings, client: Any, tmp_path: Path) -> None:
    folder = model(tmp_path)
    (folder / "nnselect" / "model.safetensors").write_text("onf")
    with pytest.raises(IntegrityError, match=r"model\.safetensors: damaged"):
        register_model(folder, "damaged", "champion", tracking=tracking)
    assert "damaged" not in [entity.name for entity in client.search_registered_models()]


def test_what_cannot_be_registered_is_refused(tracking: TrackingSettings, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no model"):
        register_model(tmp_path, "nothing", "champion", tracking=tracking)
    with pytest.raises(InputError, match="tracking must not be off"):
        register_model(model(tmp_path), "off", "champion", tracking=TrackingSettings(enabled=False))
