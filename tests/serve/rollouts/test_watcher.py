"""What the watcher decides, without Ray: which release is next, what is refused, and which lines are reported."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from helpers.served_folders import index, model

from cocite import verification
from cocite.artifacts import publish
from cocite.errors import CociteError
from cocite.retrieval.index.versions import VersionLock
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.model_cache import ModelCache
from cocite_serve.release import LockedRelease, Release, ReleaseSource
from cocite_serve.rollouts import watcher
from cocite_serve.rollouts.beside import BesideFollower, beside_source
from cocite_serve.rollouts.errors import RolledBackError, RolloutError
from cocite_serve.rollouts.outcomes import Outcomes
from cocite_serve.rollouts.rollout import Rollout
from cocite_serve.rollouts.watcher import Watcher
from cocite_serve.settings import ServeSettings


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
    failing: Path | None = None
    """Fails in the canary."""
    away = False
    """Whether Ray Serve does not answer when old stages are to be deleted."""
    told: tuple[RefusedRelease, ...] = ()

    def switch_to(self, release: Release) -> None:
        if release.model == self.broken:
            raise RolloutError("a stage cannot be loaded")
        if release.model == self.failing:
            raise RolledBackError("in the canary 3 of 20 requests failed")

    def tell(self, refused: tuple[RefusedRelease, ...]) -> None:
        self.told = refused

    def delete_old_stages(self) -> None:
        if self.away:
            raise RolloutError("Ray does not answer")


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
    assert endpoint.lines[-2] == "Serving x version 2 (@champion) over index 000003 now."
    assert endpoint.lines[-1].startswith("cocite: warning: x version 2 (@champion): keeps no golden queries")


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
    endpoint = Endpoint(tmp_path, watch={"seconds": 0.01}, rollout={"queries": 0})
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


def test_old_stages_that_are_not_deleted_keep_their_files_until_a_later_look_deletes_them(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlocked: list[Path | None] = []
    outcomes: list[str] = []
    monkeypatch.setattr(LockedRelease, "unlock", lambda self: unlocked.append(self.release.model))
    monkeypatch.setattr(Outcomes, "count", lambda self, outcome: outcomes.append(outcome))
    endpoint.models.append(model(endpoint.folder / "two", nnselect="1"))
    endpoint.rollout.away = True
    for _ in range(2):
        with pytest.raises(CociteError, match="an earlier release were not deleted.*Ray does not answer"):
            endpoint.look(1)
    assert (outcomes, endpoint.rollout.told, unlocked) == (["served"], (), []), "the new one is served"
    endpoint.rollout.away = False
    assert endpoint.look(2) == (2, "000001")
    assert unlocked == endpoint.models[:1]


def test_an_endpoint_that_ends_unlocks_what_it_served_too(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlocked: list[Path | None] = []
    monkeypatch.setattr(LockedRelease, "unlock", lambda self: unlocked.append(self.release.model))
    endpoint.models.append(model(endpoint.folder / "two", nnselect="1"))
    endpoint.rollout.away = True
    with pytest.raises(CociteError, match="an earlier release were not deleted"):
        endpoint.look(1)
    endpoint.watcher.unlock()
    assert sorted(map(str, unlocked)) == sorted(map(str, endpoint.models))


def test_what_is_refused_is_told_until_something_else_is_newest(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[str] = []
    monkeypatch.setattr(Outcomes, "count", lambda self, outcome: outcomes.append(outcome))
    endpoint.models.append(model(endpoint.folder / "two", nnselect="1"))
    endpoint.rollout.failing = endpoint.models[1]
    endpoint.look(3)
    [refused] = endpoint.rollout.told
    assert refused.what == "x version 2 (@champion) over index 000001"
    assert refused.why == "in the canary 3 of 20 requests failed"
    endpoint.models.append(model(endpoint.folder / "three", nnselect="1"))
    endpoint.rollout.broken = endpoint.models[2]
    endpoint.look()
    assert [refused.why for refused in endpoint.rollout.told] == ["a stage cannot be loaded"]
    endpoint.models.append(model(endpoint.folder / "four", nnselect="1"))
    assert endpoint.look() == (4, "000001")
    assert endpoint.rollout.told == ()
    assert outcomes == ["rolled_back", "refused", "served"]


def test_what_is_refused_is_told_though_the_next_attempt_ends_with_an_error(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def switch_to(release: Release) -> None:
        if release.model == endpoint.models[1]:
            raise RolloutError("a stage cannot be loaded")
        raise TimeoutError("the refused stages were not deleted after 60s")

    monkeypatch.setattr(endpoint.rollout, "switch_to", switch_to)
    endpoint.models.append(model(endpoint.folder / "two", nnselect="1"))
    index(endpoint.index, endpoint.models[0], version="000002")
    with pytest.raises(TimeoutError, match="were not deleted"):
        endpoint.watcher.look()
    assert [one.what for one in endpoint.rollout.told] == ["x version 2 (@champion) over index 000002"]


def test_an_alias_that_was_set_back_and_forth_is_tried_again(endpoint: Endpoint) -> None:
    endpoint.models.append(model(endpoint.folder / "two", nnselect="1"))
    endpoint.rollout.broken = endpoint.models[1]
    assert endpoint.look() == (1, "000001")
    two = endpoint.models.pop()
    endpoint.look()
    assert endpoint.rollout.told == ()
    endpoint.models.append(two)
    endpoint.rollout.broken = None
    assert endpoint.look() == (2, "000001")


def test_a_snapshot_whose_bytes_alone_tell_that_it_was_altered_is_refused(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a failing disk alters it: the file system knows nothing of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(verification, "_fingerprint", lambda folder, manifest: (str(folder), 0))
    snapshot = endpoint.index / "versions" / "000003"
    with publish(snapshot, kind="index", meta={}) as folder:
        (folder / "vectors.npy").write_bytes(b"0123456789")
    verification.open_verified_once(snapshot, kind="index")
    (snapshot / "vectors.npy").write_bytes(b"0123456780")
    verification.open_verified_once(snapshot, kind="index")  # does not notice
    (endpoint.index / "CURRENT").write_text("000003")
    assert endpoint.look() == (1, "000001")
    [line] = endpoint.lines
    assert "vectors.npy: damaged" in line


class Follower(BesideFollower):
    """A second release that is refused."""

    looks = 0

    def look(self, served: Release) -> None:
        self.looks += 1
        self.refused = RefusedRelease(what="x", why="damaged", when="2026-11-23T09:00:00+00:00")


def test_a_second_release_is_looked_for_although_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "RETELL_S", 0.01)
    endpoint = Endpoint(tmp_path, watch={"seconds": 0}, beside={"index": tmp_path / "index"})
    source = beside_source(endpoint.rollout._settings)
    assert source is not None
    follower = Follower(source, endpoint.rollout, endpoint.lines.append)
    watching = Watcher(endpoint.watcher.source, endpoint.watcher.served, endpoint.rollout, print, follower)
    told: list[int] = []
    monkeypatch.setattr(endpoint.rollout, "tell", lambda refused: told.append(len(refused)))
    watching.start()
    deadline = time.monotonic() + 60
    while len(told) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    watching.stop()
    assert told[:3] == [1, 1, 1], "gateways that started anew are told again and again"
    assert follower.looks == 1, "it is a folder, which does not change"
