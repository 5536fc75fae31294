"""What the watcher decides, without Ray: which release is next, what is refused, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.served_folders import index, model

from cocite.errors import CociteError
from cocite.retrieval.index.versions import Pin
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_serve.model_cache import ModelCache
from cocite_serve.releases import Release, Source
from cocite_serve.rollout import Rollout, RolloutError
from cocite_serve.settings import ServeSettings
from cocite_serve.watch import Watcher


class Shelf(ModelCache):
    """A registry of folders: version n is folder n - 1."""

    folders: list[Path]
    away = False

    def resolve(self, reference: ModelReference) -> ModelVersion:
        if self.away:
            raise CociteError("the store is away")
        return ModelVersion(reference.name, len(self.folders), reference.alias)

    def fetch(self, version: ModelVersion) -> tuple[Path, Pin]:
        return self.folders[version.version - 1], Pin(None)


class Recorded(Rollout):
    """Notes what was turned to."""

    broken: Path | None = None

    def turn(self, release: Release) -> None:
        if release.model == self.broken:
            raise RolloutError("a stage cannot be loaded")

    def retire(self) -> None:
        pass


class Scene:
    """An endpoint that serves version 1 over snapshot 1, made for each other."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said = folder, list[str]()
        self.models = [model(folder / "one", nnselect="1")]
        self.index = index(folder / "index", self.models[0])
        settings = ServeSettings(index=self.index, model=Path("models:/x@champion"))
        self.shelf = Shelf(settings.registry)
        self.shelf.folders = self.models
        self.rollout = Recorded(settings)
        source = Source(settings)
        source.cache = self.shelf
        self.watcher = Watcher(source, source.take(source.look()), self.rollout, self.said.append)

    def looks(self, times: int = 2) -> tuple[int, str]:
        """Look some times; the version and the snapshot served then."""
        for _ in range(times):
            self.watcher.look()
        release = self.watcher.held.release
        assert release.registered is not None
        return release.registered.version, release.index_version


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_nothing_new(scene: Scene) -> None:
    assert scene.looks() == (1, "000001")
    assert scene.said == []


def test_a_model_that_does_not_fit_waits_for_its_index(scene: Scene) -> None:
    two = model(scene.folder / "two", nnselect="2")
    scene.models.append(two)
    assert scene.looks(3) == (1, "000001")
    assert len(scene.said) == 1
    assert scene.said[0].startswith(
        "x version 2 (@champion) over index 000001 is not served: the index's vectors"
    )
    assert f"--to {scene.index} --model {two})" in scene.said[0]
    assert scene.said[0].endswith(" x version 1 (@champion) over index 000001 goes on being served.")
    index(scene.index, scene.models[0], version="000002")  # more papers, for the old model
    assert scene.looks(3) == (1, "000002")
    index(scene.index, two, version="000003")
    assert scene.looks(3) == (2, "000003")
    assert scene.said[-1] == "Serving x version 2 (@champion) over index 000003 now."


def test_an_index_that_does_not_fit_waits_for_its_model(scene: Scene) -> None:
    two = model(scene.folder / "two", nnselect="2")
    index(scene.index, two, version="000002")
    assert scene.looks(3) == (1, "000001")
    assert len(scene.said) == 1
    scene.models.append(two)
    assert scene.looks() == (2, "000002")


def test_a_damaged_index_is_refused_once_and_the_old_one_goes_on(scene: Scene) -> None:
    index(scene.index, scene.models[0], version="000002")
    manifest = scene.index / "versions" / "000002" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("nnselect", "nnselecu"))
    assert scene.looks(3) == (1, "000001")
    [line] = scene.said
    assert "000002/manifest.json: damaged" in line
    assert line.endswith(" x version 1 (@champion) over index 000001 goes on being served.")
    index(scene.index, scene.models[0], version="000003")
    assert scene.looks() == (1, "000003")


def test_stages_that_do_not_come_up_are_tried_once(scene: Scene) -> None:
    scene.models.append(model(scene.folder / "two", nnselect="1"))
    scene.rollout.broken = scene.models[1]
    assert scene.looks(3) == (1, "000001")
    assert len(scene.said) == 1
    scene.models.append(model(scene.folder / "three", nnselect="1"))
    assert scene.looks() == (3, "000001")


def test_a_store_that_is_away_is_asked_again(scene: Scene) -> None:
    scene.shelf.away = True
    with pytest.raises(CociteError, match="the store is away"):
        scene.looks(1)
    scene.models.append(model(scene.folder / "two", nnselect="1"))
    scene.shelf.away = False
    assert scene.looks() == (2, "000001")
