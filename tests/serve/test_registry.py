"""Registered models: real MLflow on SQLite, artifacts of a few bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cocite.artifacts import publish
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError
from cocite_serve.registry import KEEP, Reference, Registered, Registry
from cocite_serve.settings import Registry as RegistrySettings

pytestmark = pytest.mark.integration

NAME = "citeomatic"


class Store:
    """An MLflow store in a folder, and models that are registered in it as `cocite train --register` does."""

    def __init__(self, folder: Path) -> None:
        from mlflow import MlflowClient

        self.folder, self.uri = folder, f"sqlite:///{folder / 'mlflow.db'}"
        self.client = MlflowClient(self.uri, self.uri)
        self.experiment = self.client.create_experiment("models", (folder / "artifacts").as_uri())
        self.client.create_registered_model(NAME)

    def register(self, weight: str, alias: str = "champion", **tags: str) -> Path:
        """The next version; returns the folder that the store keeps it in."""
        run = self.client.create_run(self.experiment)
        model = self.folder / "models" / run.info.run_id
        with publish(model / "nnselect", kind="nnselect", meta={}) as folder:
            (folder / "model.safetensors").write_text(weight)
        self.client.log_artifacts(run.info.run_id, str(model), "model")
        source = f"{run.info.artifact_uri}/model"
        version = self.client.create_model_version(NAME, source, run.info.run_id, tags=tags)
        self.client.set_registered_model_alias(NAME, alias, version.version)
        return Path(source.removeprefix("file://"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield Store(tmp_path_factory.mktemp("mlflow"))


@pytest.fixture
def registry(store: Store, tmp_path: Path) -> Registry:
    return Registry(RegistrySettings(folder=store.folder, cache=tmp_path / "cache"))


def weight(folder: Path) -> str:
    return (folder / "nnselect/model.safetensors").read_text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("models/x", None),
        ("models:/a b@champion", Reference("a b", alias="champion")),
        ("models:/x/12", Reference("x", version=12)),
    ],
)
def test_addresses(text: str | None, expected: Reference | None) -> None:
    assert Reference.parse(text) == expected
    assert Reference.parse(None if text is None else Path(text)) == expected
    assert expected is None or str(expected) == text


@pytest.mark.parametrize("text", ["models:/x", "models:/x@", "models:/x/latest", "models:/x/y@z", "models:/"])
def test_an_address_that_is_none(text: str) -> None:
    with pytest.raises(
        InputError, match="names no registered model.*models:/NAME@ALIAS or models:/NAME/VERSION"
    ):
        Reference.parse(text)


def test_the_version_behind_an_alias_is_fetched_once(store: Store, registry: Registry) -> None:
    store.register("one")
    champion = Reference(NAME, alias="champion")
    first = registry.find(champion)
    place = store.register("two")
    second = registry.find(champion)
    assert (second.version, second.alias) == (first.version + 1, "champion")
    folder, _ = registry.fetch(second)
    assert weight(folder) == "two"
    (place / "nnselect/model.safetensors").unlink()
    assert registry.fetch(second)[0] == folder, "it is there already"
    by_number = registry.find(Reference(NAME, version=first.version))
    assert by_number == Registered(NAME, first.version)
    assert weight(registry.fetch(by_number)[0]) == "one"


def test_a_copy_that_was_damaged_is_fetched_again(store: Store, registry: Registry) -> None:
    store.register("whole")
    model = registry.find(Reference(NAME, alias="champion"))
    folder, _ = registry.fetch(model)
    (folder / "nnselect/model.safetensors").write_text("other")
    assert weight(registry.fetch(model)[0]) == "whole"


def test_the_last_versions_stay_and_those_in_use(store: Store, registry: Registry) -> None:
    pins = []
    for number in range(KEEP + 3):
        store.register(f"number {number}")
        folder, pin = registry.fetch(registry.find(Reference(NAME, alias="champion")))
        pins.append(pin if number == 0 else pin.release())
    kept = sorted(path for path in folder.parent.iterdir())
    assert [weight(path) for path in kept] == [f"number {n}" for n in (0, 3, 4, 5)]
    assert len(kept) == KEEP + 1


def test_a_damaged_model_is_refused_and_leaves_nothing(store: Store, registry: Registry) -> None:
    (store.register("whole") / "nnselect/model.safetensors").write_text("wholE")
    model = registry.find(Reference(NAME, alias="champion"))
    with pytest.raises(
        IntegrityError, match=r"^models:/citeomatic/\d+: .* nnselect/model.safetensors: damaged"
    ):
        registry.fetch(model)
    assert not [path for path in registry.settings.cache.rglob("*") if path.name == "nnselect"]
    store.register("other", **{"artifact.nnselect": "nnselect 0123456789abcdef"})
    with pytest.raises(IntegrityError, match="nnselect is not the one that was registered"):
        registry.fetch(registry.find(Reference(NAME, alias="champion")))


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            Reference("citeomatik", alias="champion"),
            "no registered model 'citeomatik' .did you mean 'citeomatic'",
        ),
        (Reference(NAME, alias="champoin"), "citeomatic has no alias 'champoin' .did you mean 'champion'"),
        (Reference(NAME, version=99), "citeomatic has no version 99"),
    ],
)
def test_what_is_not_there_is_told(
    store: Store, registry: Registry, reference: Reference, message: str
) -> None:
    store.register("any")
    with pytest.raises(NotFoundError, match=message):
        registry.find(reference)


def test_a_store_that_is_not_there_is_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFoundError, match=r"mlflow.db: no MLflow store .name it by MLFLOW_TRACKING_URI"):
        Registry(RegistrySettings(folder=tmp_path)).find(Reference(NAME, alias="champion"))
    assert not (tmp_path / "mlflow.db").exists()
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@127.0.0.1:9")
    with pytest.raises(CociteError, match=r"^http://127.0.0.1:9: .*refused") as told:
        Registry(RegistrySettings(folder=store.folder)).find(Reference(NAME, alias="champion"))
    assert "secret" not in str(told.value)


def test_mlflow_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, cocite_serve.run; sys.exit('mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
