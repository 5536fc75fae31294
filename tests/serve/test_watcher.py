"""What the watcher decides, without Ray: which release is next, what is refused, and which lines are reported."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from helpers.served_folders import index, model

from cocite.errors import CociteError
from cocite.retrieval.index.versions import VersionLock
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_serve.model_cache import ModelCache
from cocite_serve.release import LockedRelease, Release, ReleaseSource
from cocite_serve.rollout import Rollout, RolloutError
from cocite_serve.settings import ServeSettings
from cocite_serve.watcher import Watcher


class FolderCache(ModelCache):
    """A registry of folders: version n is folder n - 1, and there is no store."""

    folders: list[Path]
    away = False

    def resolve(self, reference: ModelReference) -> ModelVersion:
        if self.away:
            raise CociteError("the store is away")
        return ModelVersion(reference.name, len(self.folders), reference.alias)

    def fetch(self, version: ModelVersion) -> tuple[Path, VersionLock]:
        return self.folders[version.version - 1], VersionLock(None)


class FakeRollout(Rollout):
    """Starts nothing; one model can be broken."""

    broken: Path | None = None

    def switch_to(self, release: Release) -> None:
        if release.model == self.broken:
            raise RolloutError("a stage cannot be loaded")

    def delete_old_stages(self) -> None:
        pass


class Endpoint:
    """An endpoint that serves version 1 over snapshot 1, made for each other."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.folder, self.lines = folder, list[str]()
        self.models = [model(folder / "one", nnselect="1")]
        self.index = index(folder / "index", self.models[0])
        settings = ServeSettings(index=self.index, model=Path("models:/x@champion"), **changes)
        self.cache = FolderCache(settings.registry)
        self.cache.folders = self.models
        self.rollout = FakeRollout(settings)
        source = ReleaseSource(settings)
        source.cache = self.cache
        self.watcher = Watcher(source, source.lock(source.newest()), self.rollout, self.lines.append)

    def look(self, times: int = 2) -> tuple[int, str]:
        """Look some times; the version and the snapshot served then."""
        for _ in range(times):
            self.watcher.look()
        release = self.watcher.served.release
        assert release.registered is not None
        return release.registered.version, release.index_version


@pytest.fixture
def endpoint(tmp_path: Path) -> Endpoint:
    return Endpoint(tmp_path)


def test_the_same_versions_change_nothing(endpoint: Endpoint) -> None:
    assert endpoint.look() == (1, "000001")
    assert endpoint.lines == []


def test_a_model_that_does_not_fit_waits_for_its_index(endpoint: Endpoint) -> None:
    two = model(endpoint.folder / "two", nnselect="2")
    endpoint.models.append(two)
    assert endpoint.look(3) == (1, "000001")
    assert len(endpoint.lines) == 1
    assert endpoint.lines[0].startswith(
        "x version 2 (@champion) over index 000001 is not served: the index's vectors"
    )
    assert f"--to {endpoint.index} --model {two})" in endpoint.lines[0]
    assert endpoint.lines[0].endswith(" x version 1 (@champion) over index 000001 goes on being served.")
    index(endpoint.index, endpoint.models[0], version="000002")  # more papers, for the old model
    assert endpoint.look(3) == (1, "000002")
    index(endpoint.index, two, version="000003")
    assert endpoint.look(3) == (2, "000003")
    assert endpoint.lines[-1] == "Serving x version 2 (@champion) over index 000003 now."


def test_an_index_that_does_not_fit_waits_for_its_model(endpoint: Endpoint) -> None:
    two = model(endpoint.folder / "two", nnselect="2")
    index(endpoint.index, two, version="000002")
    assert endpoint.look(3) == (1, "000001")
    assert len(endpoint.lines) == 1
    endpoint.models.append(two)
    assert endpoint.look() == (2, "000002")


def test_a_damaged_index_is_refused_once_and_the_old_one_goes_on(endpoint: Endpoint) -> None:
    index(endpoint.index, endpoint.models[0], version="000002")
    manifest = endpoint.index / "versions" / "000002" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("nnselect", "nnselecu"))
    assert endpoint.look(3) == (1, "000001")
    [line] = endpoint.lines
    assert "000002/manifest.json: damaged" in line
    assert line.endswith(" x version 1 (@champion) over index 000001 goes on being served.")
    index(endpoint.index, endpoint.models[0], version="000003")
    assert endpoint.look() == (1, "000003")


def test_stages_that_do_not_come_up_are_tried_once(endpoint: Endpoint) -> None:
    endpoint.models.append(model(endpoint.folder / "two", nnselect="1"))
    endpoint.rollout.broken = endpoint.models[1]
    assert endpoint.look(3) == (1, "000001")
    assert len(endpoint.lines) == 1
    endpoint.models.append(model(endpoint.folder / "three", nnselect="1"))
    assert endpoint.look() == (3, "000001")


def test_a_store_that_is_away_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.cache.away = True
    with pytest.raises(CociteError, match="the store is away"):
        endpoint.look(1)
    endpoint.models.append(model(endpoint.folder / "two", nnselect="1"))
    endpoint.cache.away = False
    assert endpoint.look() == (2, "000001")


def test_a_failure_is_reported_once_until_a_look_succeeds(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread's loop, without its waits: two failures, a success, a failure of another kind."""
    failures = iter([CociteError("away"), CociteError("away"), None, CociteError("away"), KeyError("defect")])

    def look() -> None:
        if (failure := next(failures)) is not None:
            raise failure

    watcher = endpoint.watcher
    waits = iter([False] * 5 + [True])
    monkeypatch.setattr(watcher, "look", look)
    monkeypatch.setattr(watcher._stopped, "wait", lambda _: next(waits))
    watcher._run()
    sentence = "Cannot look for something newer to serve: "
    assert endpoint.lines == [f"{sentence}away", f"{sentence}away", f"{sentence}KeyError('defect')"]


def test_the_thread_looks_until_it_is_stopped(tmp_path: Path) -> None:
    endpoint = Endpoint(tmp_path, watch={"seconds": 0.01})
    endpoint.models.append(model(tmp_path / "two", nnselect="1"))
    endpoint.watcher.start()
    deadline = time.monotonic() + 60
    while not endpoint.lines and time.monotonic() < deadline:
        time.sleep(0.01)
    endpoint.watcher.stop()
    assert endpoint.lines == ["Serving x version 2 (@champion) over index 000001 now."]
    assert not endpoint.watcher._thread.is_alive()


def test_where_nothing_can_change_no_thread_runs(tmp_path: Path) -> None:
    endpoint = Endpoint(tmp_path, watch={"seconds": 0})
    endpoint.watcher.start()
    assert not endpoint.watcher._thread.is_alive()
    endpoint.watcher.stop()


def test_a_release_that_cannot_be_served_is_unlocked(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlocked: list[Release] = []
    monkeypatch.setattr(LockedRelease, "unlock", lambda self: unlocked.append(self.release))
    endpoint.models.append(model(endpoint.folder / "two", nnselect="1"))
    endpoint.rollout.broken = endpoint.models[1]
    endpoint.look(1)
    assert [release.model for release in unlocked] == [endpoint.models[1]]
    endpoint.models.append(model(endpoint.folder / "three", nnselect="1"))
    endpoint.look(1)
    assert [release.model for release in unlocked] == [endpoint.models[1], endpoint.models[0]], "the old one"
