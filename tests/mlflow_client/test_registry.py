"""Registered models: real MLflow on SQLite, artifacts of a few bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cocite.artifacts import publish, verify
from cocite.errors import CociteError, IntegrityError, NotFoundError
from cocite_mlflow.connection import TrackingSettings, tracking_uri
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_mlflow.registration import register_model
from cocite_mlflow.registry import ModelRegistry, download_model, verify_model, version_of_alias

NAME = "citeomatic"
CHAMPION = ModelReference(NAME, alias="champion")


@pytest.fixture
def registry(tracking: TrackingSettings) -> ModelRegistry:
    return ModelRegistry(tracking_uri(tracking.folder))


@pytest.fixture
def register(tracking: TrackingSettings, tmp_path: Path) -> Any:
    """Registers a model of one weight; returns the version."""

    def register_weight(weight: str) -> int:
        folder = tmp_path / "registered" / weight
        with publish(folder / "nnselect", kind="nnselect", meta={}) as artifact:
            (artifact / "model.safetensors").write_text(weight)
        return register_model(folder, NAME, "champion", tracking=tracking)

    return register_weight


def stored(client: Any, version: int) -> Path:
    """Where the store keeps a version's folder."""
    return Path(client.get_model_version(NAME, str(version)).source.removeprefix("file://"))


def weight_of(folder: Path) -> str:
    return (folder / "nnselect/model.safetensors").read_text()


def test_an_alias_leads_to_another_version_after_each_registration(
    registry: ModelRegistry, register: Any, tmp_path: Path
) -> None:
    first, second = register("one"), register("two")
    assert second == first + 1
    assert registry.resolve(CHAMPION) == ModelVersion(NAME, second, "champion")
    assert registry.resolve(ModelReference(NAME, version=first)) == ModelVersion(NAME, first)
    assert weight_of(registry.download(ModelVersion(NAME, first), tmp_path / "copy")) == "one"


def test_the_jobs_download_what_an_alias_points_at(
    tracking: TrackingSettings, register: Any, tmp_path: Path
) -> None:
    version = register("three")
    assert version_of_alias(NAME, "champion", tracking=tracking) == version
    assert version_of_alias(NAME, "nobody", tracking=tracking) is None
    assert version_of_alias("no-such-model", "champion", tracking=tracking) is None
    folder = download_model(NAME, "champion", tmp_path / "back", tracking=tracking)
    assert folder == tmp_path / "back" / "model"
    assert verify(folder / "nnselect", kind="nnselect").files.keys() == {"model.safetensors"}
    assert weight_of(folder) == "three"
    with pytest.raises(CociteError, match="MLflow:"):
        download_model(NAME, "nobody", tmp_path, tracking=tracking)


def test_a_copy_that_differs_from_its_manifest_is_refused(
    tracking: TrackingSettings, registry: ModelRegistry, register: Any, client: Any, tmp_path: Path
) -> None:
    version = register("whole")
    (stored(client, version) / "nnselect/model.safetensors").write_text("wholE")
    with pytest.raises(
        IntegrityError, match=r"^models:/citeomatic/\d+: .* nnselect/model\.safetensors: damaged"
    ):
        registry.download(ModelVersion(NAME, version), tmp_path / "one")
    with pytest.raises(
        IntegrityError, match=r"^models:/citeomatic@champion: .* nnselect/model\.safetensors: damaged"
    ):
        download_model(NAME, "champion", tmp_path / "two", tracking=tracking)


def test_a_copy_is_compared_with_what_was_registered(
    registry: ModelRegistry, register: Any, tmp_path: Path
) -> None:
    version = ModelVersion(NAME, register("four"))
    tags = registry.artifact_tags(version)
    folder = registry.download(version, tmp_path)
    verify_model(folder, tags, CHAMPION)
    verify_model(folder, {}, CHAMPION)  # registered by other means: the manifests are all there is
    with pytest.raises(IntegrityError, match="nnselect is not the one that was registered"):
        verify_model(folder, {"artifact.nnselect": "nnselect 0123456789abcdef"}, CHAMPION)
    with pytest.raises(IntegrityError, match="nnrank is not the one that was registered"):
        verify_model(folder, tags | {"artifact.nnrank": "nnrank 0123456789abcdef"}, CHAMPION)
    with pytest.raises(IntegrityError, match="nnselect is not the one that was registered"):
        verify_model(folder, {"artifact.sentence": tags["artifact.nnselect"]}, CHAMPION)


def test_tags_of_other_things_and_of_hidden_folders_are_not_of_artifacts(
    registry: ModelRegistry, register: Any, client: Any
) -> None:
    version = register("five")
    for tag in ("validated", "artifact..nnrank.checkpoint"):
        client.set_model_version_tag(NAME, str(version), tag, "yes")
    assert list(registry.artifact_tags(ModelVersion(NAME, version))) == ["artifact.nnselect"]


def test_a_name_that_was_given_again_is_another_model(
    tracking: TrackingSettings, registry: ModelRegistry, client: Any, tmp_path: Path
) -> None:
    with publish(tmp_path / "bag", kind="bag", meta={}):
        pass
    version = ModelVersion("again", register_model(tmp_path, "again", "champion", tracking=tracking))
    before = registry.identity(version)
    assert registry.identity(version) == before
    client.delete_registered_model("again")
    register_model(tmp_path, "again", "champion", tracking=tracking)
    assert registry.identity(version) != before


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            ModelReference("citeomatik", alias="champion"),
            "no registered model 'citeomatik' .did you mean 'citeomatic'",
        ),
        (
            ModelReference(NAME, alias="champoin"),
            "citeomatic has no alias 'champoin' .did you mean 'champion'",
        ),
        (ModelReference(NAME, version=99), "citeomatic has no version 99"),
    ],
)
def test_what_is_not_there_is_named_with_the_nearest(
    registry: ModelRegistry, register: Any, reference: ModelReference, message: str
) -> None:
    register("any")
    with pytest.raises(NotFoundError, match=message):
        registry.resolve(reference)


def test_a_server_that_does_not_answer_is_an_error_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(CociteError, match=r"^http://127.0.0.1:9: .*refused") as caught:
        ModelRegistry("http://me:secret@127.0.0.1:9").resolve(CHAMPION)
    assert "secret" not in str(caught.value)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"mlflow\.db: no MLflow store .name it by MLFLOW_TRACKING_URI"):
        ModelRegistry(tracking_uri(tmp_path)).resolve(CHAMPION)
    assert list(tmp_path.iterdir()) == []
