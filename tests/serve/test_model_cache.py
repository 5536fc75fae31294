"""Copies of registered models: real MLflow on SQLite, artifacts of a few bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cocite.artifacts import publish
from cocite.errors import BusyError, IntegrityError, NotFoundError
from cocite.retrieval.index.versions import VersionedFolder
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_serve.model_cache import KEEP, ModelCache
from cocite_serve.settings import RegistrySettings

pytestmark = pytest.mark.integration

NAME = "citeomatic"
CHAMPION = ModelReference(NAME, alias="champion")


class Store:
    """An MLflow store in a folder, and models that are registered in it as `cocite train --register` does."""

    def __init__(self, folder: Path) -> None:
        from mlflow import MlflowClient

        self.folder, self.uri = folder, f"sqlite:///{folder / 'mlflow.db'}"
        self.client = MlflowClient(self.uri, self.uri)
        self.experiment = self.client.create_experiment("models", (folder / "artifacts").as_uri())
        self.client.create_registered_model(NAME)

    def register(self, weight: str, kind: str = "nnselect", **tags: str) -> Path:
        """Make the next version the champion; returns the folder that the store keeps it in."""
        run = self.client.create_run(self.experiment)
        model = self.folder / "models" / run.info.run_id
        with publish(model / kind, kind=kind, meta={}) as folder:
            (folder / "model.safetensors").write_text(weight)
        self.client.log_artifacts(run.info.run_id, str(model), "model")
        source = f"{run.info.artifact_uri}/model"
        version = self.client.create_model_version(NAME, source, run.info.run_id, tags=tags)
        self.client.set_registered_model_alias(NAME, "champion", version.version)
        return Path(source.removeprefix("file://"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield Store(tmp_path_factory.mktemp("mlflow"))


@pytest.fixture
def cache(store: Store, tmp_path: Path) -> ModelCache:
    return ModelCache(RegistrySettings(folder=store.folder, cache=tmp_path / "cache"))


def weight(folder: Path) -> str:
    return (folder / "nnselect/model.safetensors").read_text()


def test_the_version_behind_an_alias_is_fetched_once(store: Store, cache: ModelCache) -> None:
    store.register("one")
    first = cache.resolve(CHAMPION)
    place = store.register("two")
    second = cache.resolve(CHAMPION)
    assert (second.version, second.alias) == (first.version + 1, "champion")
    folder, _ = cache.fetch(second)
    assert weight(folder) == "two"
    (place / "nnselect/model.safetensors").unlink()
    assert cache.fetch(second)[0] == folder, "it is there already"
    by_number = cache.resolve(ModelReference(NAME, version=first.version))
    assert by_number == ModelVersion(NAME, first.version)
    assert weight(cache.fetch(by_number)[0]) == "one"


def test_a_copy_that_was_damaged_is_fetched_again(store: Store, cache: ModelCache) -> None:
    store.register("whole")
    model = cache.resolve(CHAMPION)
    folder, _ = cache.fetch(model)
    (folder / "nnselect/model.safetensors").write_text("other")
    assert weight(cache.fetch(model)[0]) == "whole"


def test_the_last_versions_stay_and_those_in_use(store: Store, cache: ModelCache) -> None:
    locks = []
    for number in range(KEEP + 3):
        store.register(f"number {number}")
        folder, lock = cache.fetch(cache.resolve(CHAMPION))
        locks.append(lock if number == 0 else lock.release())
    kept = sorted(path for path in folder.parent.iterdir())
    assert [weight(path) for path in kept] == [f"number {n}" for n in (0, 3, 4, 5)]
    assert len(kept) == KEEP + 1


def test_a_damaged_model_is_refused_and_leaves_nothing(store: Store, cache: ModelCache) -> None:
    (store.register("whole") / "nnselect/model.safetensors").write_text("wholE")
    model = cache.resolve(CHAMPION)
    with pytest.raises(
        IntegrityError, match=r"^models:/citeomatic/\d+: .* nnselect/model.safetensors: damaged"
    ):
        cache.fetch(model)
    assert not [path for path in cache.settings.cache.rglob("*") if path.name == "nnselect"]
    store.register("other", **{"artifact.nnselect": "nnselect 0123456789abcdef"})
    with pytest.raises(IntegrityError, match="nnselect is not the one that was registered"):
        cache.fetch(cache.resolve(CHAMPION))


def test_a_store_that_is_not_there_is_named_with_the_setting(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"mlflow.db: no MLflow store .name it by .* or registry.folder"):
        ModelCache(RegistrySettings(folder=tmp_path)).resolve(CHAMPION)
    assert not (tmp_path / "mlflow.db").exists()


def test_a_model_of_which_the_pipeline_has_no_part_is_refused(store: Store, cache: ModelCache) -> None:
    store.register("any", kind="bag")
    with pytest.raises(IntegrityError, match=r"^models:/citeomatic/\d+: .* it holds none of nnselect"):
        cache.fetch(cache.resolve(CHAMPION))
    assert not list(cache.settings.cache.rglob("bag"))


def test_a_model_that_another_process_fetches_is_busy(store: Store, cache: ModelCache) -> None:
    store.register("any")
    version = cache.resolve(CHAMPION)
    folder, _ = cache.fetch(version)
    store.register("next")
    with (
        VersionedFolder(folder.parent.parent).writing(),
        pytest.raises(BusyError, match="another process fetches this model"),
    ):
        cache.fetch(cache.resolve(CHAMPION))
    assert cache.fetch(version)[0] == folder, "a copy that is there needs no writer"
