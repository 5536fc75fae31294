"""Which release is loaded beside the served one, and that what fails there disturbs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.served_folders import index, model

from cocite.errors import CociteError
from cocite_serve.release import LockedRelease, Release, ReleaseSource, Target
from cocite_serve.rollouts.beside import BesideFollower, beside_source
from cocite_serve.rollouts.errors import RolloutError
from cocite_serve.rollouts.rollout import Rollout
from cocite_serve.settings import ServeSettings


class FakeRollout(Rollout):
    """Starts nothing; some models are broken."""

    def __init__(self, settings: ServeSettings) -> None:
        super().__init__(settings)
        self.beside: list[Release] = []
        self.broken: Path | None = None

    def put_beside(self, release: Release) -> None:
        if release.model == self.broken:
            raise RolloutError("its answers are not those of a sound model")
        self.beside.append(release)


class Follower:
    """A follower over an index folder, and what it said."""

    def __init__(self, folder: Path, **beside: Any) -> None:
        self.model = model(folder / "one", nnselect="1")
        self.index = index(folder / "index", self.model)
        self.lines: list[str] = []
        settings = ServeSettings(
            index=self.index, model=self.model, beside=beside or {"index": self.index}, rollout={"queries": 0}
        )
        self.rollout = FakeRollout(settings)
        source = beside_source(settings)
        assert source is not None
        self.follower = BesideFollower(source, self.rollout, self.lines.append)

    def look(self, times: int = 2) -> list[str]:
        served = Release(self.model, self.index, "000001")
        for _ in range(times):
            self.follower.look(served)
        return [str(release) for release in self.rollout.beside]


def test_what_is_not_named_is_that_of_the_endpoint(tmp_path: Path) -> None:
    settings = ServeSettings(index="index", model="one", index_version="000007", beside={"model": "two"})
    source = beside_source(settings)
    assert source is not None
    named = source.settings
    assert (named.model, named.index, named.index_version) == (Path("two"), Path("index"), None)
    assert beside_source(ServeSettings(index="index")) is None


def test_a_release_is_loaded_once_and_the_next_snapshot_after_it(tmp_path: Path) -> None:
    one = Follower(tmp_path)
    assert one.look() == [f"{one.model} over index 000001"]
    index(one.index, one.model, version="000002")
    assert one.look()[1:] == [f"{one.model} over index 000002"]
    assert one.lines[-1] == f"Beside the served release: {one.model} over index 000002."


def test_one_that_is_not_sound_is_refused_once_until_another_is_newest(tmp_path: Path) -> None:
    two = model(tmp_path / "two", nnselect="1")
    one = Follower(tmp_path, model=two)
    one.rollout.broken = two.resolve()
    assert one.look() == []
    [line] = one.lines
    assert line.startswith(f"{two} over index 000001 is not loaded beside the served release: its answers")
    refused = one.follower.refused
    assert refused is not None
    assert refused.what == f"{two} over index 000001, beside the served release"
    index(one.index, one.model, version="000002")
    one.rollout.broken = None
    one.look()
    assert one.follower.refused is None


def test_one_that_does_not_fit_its_index_is_refused(tmp_path: Path) -> None:
    one = Follower(tmp_path, model=model(tmp_path / "two", nnselect="2"))
    assert one.look() == []
    assert "were made by another nnselect" in one.lines[0]


def test_a_store_that_is_away_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Follower(tmp_path)

    def away(self: ReleaseSource) -> Target:
        raise CociteError("the store is away")

    with monkeypatch.context() as context:
        context.setattr(ReleaseSource, "newest", away)
        assert one.look() == []
    assert one.lines == ["Cannot look for a release beside the served one: the store is away"]
    assert len(one.look()) == 1


def test_files_are_unlocked_when_they_are_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlocked: list[str] = []
    monkeypatch.setattr(LockedRelease, "unlock", lambda self: unlocked.append(self.release.index_version))
    one = Follower(tmp_path)
    one.look()
    assert unlocked == []
    index(one.index, one.model, version="000002")
    one.look()
    assert unlocked == ["000001"]
    one.rollout.broken = one.model.resolve()
    index(one.index, one.model, version="000003")
    one.look()
    assert unlocked == ["000001", "000003"]
    one.follower.unlock()
    assert unlocked == ["000001", "000003", "000002"]


def test_an_endpoint_that_ends_says_nothing_against_a_release(tmp_path: Path) -> None:
    one = Follower(tmp_path)
    one.rollout.broken = one.model.resolve()
    one.rollout.interrupt()
    assert one.look() == []
    assert (one.lines, one.follower.refused) == ([], None)
