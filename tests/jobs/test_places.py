from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from cocite.artifacts import publish, verify
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import BusyError, InputError, IntegrityError, NotFoundError
from cocite.locks import locked
from cocite.manifests import MANIFEST
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A URI of a file system that is no local one, and a cache of the test's own."""
    monkeypatch.setenv("COCITE_CACHE", str(tmp_path / "cache"))
    name = uuid.uuid4().hex
    yield f"memory://{name}"
    files = fsspec.filesystem("memory")
    if files.exists(f"/{name}"):
        files.rm(f"/{name}", recursive=True)


def artifact(folder: Path, text: str = "weights") -> Path:
    with publish(folder, kind="thing", meta={"of": text}, replace=True) as temporary:
        (temporary / "inner").mkdir()
        (temporary / "inner" / "a.txt").write_text(text)
        (temporary / "b.txt").write_text(text * 2)
    return folder


@pytest.fixture(params=["here", "elsewhere"])
def place(request: pytest.FixtureRequest, remote: str, tmp_path: Path) -> Location:
    return Location.of(tmp_path / "place" if request.param == "here" else f"{remote}/place")


def test_files_are_written_read_listed_and_removed(place: Location) -> None:
    assert (place.names(), place.read("a")) == ([], None)
    place.write("a", "one")
    place.write("a", "two")
    (place / "inner").write("b", "three")
    assert place.read("a") == b"two"
    assert place.names() == ["a", "inner"]
    (place / "inner").clear()
    (place / "never").clear()
    assert place.names() == ["a"]


def test_an_artifact_comes_back_whole_and_the_next_takes_its_place(place: Location, tmp_path: Path) -> None:
    for text in ("one", "another"):
        place.put(artifact(tmp_path / "made", text))
        back = tmp_path / f"back-{text}"
        assert place.get(back).meta == {"of": text}
        assert verify(back).files.keys() == {"inner/a.txt", "b.txt"}
    with pytest.raises(NotFoundError, match=r"holds no manifest\.json"):
        (place / "none").get(tmp_path / "back")


def test_damage_on_the_way_is_found(remote: str, tmp_path: Path) -> None:
    place = Location.of(remote)
    place.put(artifact(tmp_path / "made"))
    place.write("b.txt", "wrong")
    with pytest.raises(IntegrityError, match=r"b\.txt: damaged"):
        place.get(tmp_path / "back")


def test_an_artifact_elsewhere_is_copied_once_and_anew_when_it_changed(remote: str, tmp_path: Path) -> None:
    place = Location.of(remote)
    place.put(artifact(tmp_path / "made", "one"))
    first = fetch_local(remote)
    verify(first)
    (first / "mark").touch()
    assert fetch_local(remote) == first
    assert (first / "mark").exists()
    place.put(artifact(tmp_path / "made", "two"))
    second = fetch_local(remote)
    assert (second / "inner/a.txt").read_text() == "two"
    assert (first / "inner/a.txt").read_text() == "one"  # who reads it goes on
    assert fetch_local(tmp_path) == tmp_path


def test_a_corpus_elsewhere_opens(remote: str, tmp_path: Path) -> None:
    corpus = build(Synthetic(60, seed=1), tmp_path / "store")
    Location.of(remote).put(corpus.path)
    assert Corpus.open(fetch_local(remote)).version == corpus.version


def test_of_a_model_folder_elsewhere_the_artifacts_come(remote: str, tmp_path: Path) -> None:
    assert list(fetch_local(remote).iterdir()) == []
    for name in ("one", "two"):
        Location.of(f"{remote}/{name}").put(artifact(tmp_path / "made", name))
    Location.of(f"{remote}/.hidden").write("run.json", "{}")
    folder = fetch_local(remote)
    assert sorted(path.name for path in folder.iterdir()) == ["one", "two"]
    Location.of(f"{remote}/two").put(artifact(tmp_path / "made", "other"))
    assert (fetch_local(remote) / "two/b.txt").read_text() == "otherother"
    assert (folder / "one" / MANIFEST).is_file()


def test_paths_are_absolute_and_uris_as_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert Location.of("model").local == tmp_path / "model"
    assert (Location.of(f"file://{tmp_path}/x") / "y").uri == f"{tmp_path}/x/y"
    assert Location.of("memory://a/b/").uri == "memory://a/b"
    assert Location.of("memory://a/b").local is None
    with pytest.raises(InputError, match=r"nonsense://x: .*nonsense"):
        Location.of("nonsense://x")


def test_a_lock_keeps_others_out_until_it_is_let_go(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "a" / ".lock"),
        pytest.raises(BusyError, match=rf"process {os.getpid()} is at work here"),
        locked(tmp_path / "a" / ".lock"),
    ):
        pass
    with locked(tmp_path / "a" / ".lock"):
        pass


def test_json_survives(place: Location) -> None:
    place.write("x.json", json.dumps({"a": "é"}))
    assert json.loads(place.read("x.json") or b"") == {"a": "é"}
