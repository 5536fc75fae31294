from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from helpers.artifacts import write_artifact

from cocite.artifacts import verify
from cocite.errors import IntegrityError
from cocite.manifests import MANIFEST
from cocite_jobs.storage.cache import cache_folder, cache_key, fetch_local, source_of
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch


def test_a_remote_artifact_is_copied_once_and_again_when_it_was_replaced(remote: str, tmp_path: Path) -> None:
    location = Location.of(remote)
    location.put(write_artifact(tmp_path / "made", "one"))
    first = fetch_local(remote)
    verify(first)
    (first / "mark").touch()
    assert fetch_local(remote) == first
    assert (first / "mark").exists()
    location.put(write_artifact(tmp_path / "made", "two"))
    second = fetch_local(remote)
    assert (second / "inner/a.txt").read_text() == "two"
    assert (first / "inner/a.txt").read_text() == "one"  # a process that has it open reads on
    assert fetch_local(tmp_path) == tmp_path


def test_the_artifacts_of_a_remote_model_folder_are_copied(remote: str, tmp_path: Path) -> None:
    assert list(fetch_local(remote).iterdir()) == []
    for name in ("one", "two"):
        Location.of(f"{remote}/{name}").put(write_artifact(tmp_path / "made", name))
    Location.of(f"{remote}/.hidden").write("run.json", "{}")
    folder = fetch_local(remote)
    assert sorted(path.name for path in folder.iterdir()) == ["one", "two"]
    Location.of(f"{remote}/two").put(write_artifact(tmp_path / "made", "other"))
    assert (fetch_local(remote) / "two/b.txt").read_text() == "otherother"
    assert (folder / "one" / MANIFEST).is_file()


def test_several_threads_that_fetch_at_once_copy_once(
    remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Location.of(remote).put(write_artifact(tmp_path / "made"))
    downloads: list[str] = []
    get = Location.get
    monkeypatch.setattr(Location, "get", lambda self, to: downloads.append(self.uri) or get(self, to))
    threads = [threading.Thread(target=fetch_local, args=(remote,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert downloads == [remote]


def test_a_damaged_artifact_never_enters_the_cache(remote: str, tmp_path: Path) -> None:
    location = Location.of(remote)
    location.put(write_artifact(tmp_path / "made"))
    location.write("b.txt", "wrong")
    with pytest.raises(IntegrityError, match=r"b\.txt: damaged"):
        fetch_local(remote)
    assert not list((tmp_path / "cache").rglob(MANIFEST))


def test_the_cache_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COCITE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("COCITE_CACHE")
    assert cache_folder().name == f"cocite-cache-{os.getuid()}"


def test_locations_of_different_uris_have_different_keys() -> None:
    keys = {cache_key(Location.of(uri)) for uri in ("memory://a/b", "memory://a/b/", "memory://a/c")}
    assert len(keys) == 2


def test_a_copy_knows_where_it_came_from(remote: str, tmp_path: Path) -> None:
    write_artifact(tmp_path / "made")
    for name in ("corpus", "model/one"):
        Location.of(f"{remote}/{name}").put(tmp_path / "made")
    Location.of(remote).write("queries.jsonl", "{}")
    (Location.of(remote) / "records" / "inner").write("a.jsonl", "{}")
    for name in ("corpus", "model", "queries.jsonl", "records"):
        assert source_of(fetch(f"{remote}/{name}")) == f"{remote}/{name}"
    assert source_of(fetch_local(f"{remote}/model") / "one") == f"{remote}/model/one"
    assert source_of(fetch(f"{remote}/records") / "inner" / "a.jsonl") == f"{remote}/records/inner/a.jsonl"
    assert source_of(tmp_path / "made") is None
    assert source_of(cache_folder()) is None
