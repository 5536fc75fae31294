from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest
from helpers.artifacts import write_artifact
from helpers.object_stores import everywhere

from cocite.artifacts import verify
from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import BODY_FILES, Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import MANIFEST
from cocite_jobs.storage.cache import cache_folder, cache_key, fetch_bodiless, fetch_local, source_of
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch


@everywhere
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


@everywhere
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


@everywhere
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


@everywhere
def test_a_damaged_artifact_never_enters_the_cache(remote: str, tmp_path: Path) -> None:
    location = Location.of(remote)
    location.put(write_artifact(tmp_path / "made"))
    location.write("b.txt", "wrong")
    with pytest.raises(IntegrityError, match=r"b\.txt: damaged"):
        fetch_local(remote)
    assert not list((tmp_path / "cache").rglob(MANIFEST))


def test_what_a_killed_download_left_is_removed_by_the_next(remote: str, tmp_path: Path) -> None:
    Location.of(f"{remote}/corpus").put(write_artifact(tmp_path / "made"))
    Location.of(remote).write("queries.jsonl", "{}")
    for uri, copied_from in ((f"{remote}/corpus", f"{remote}/corpus"), (f"{remote}/queries.jsonl", remote)):
        left = cache_folder() / f".{cache_key(Location.of(copied_from))}.0123abcd.tmp"
        left.mkdir(parents=True)
        (left / "half").touch()
        fetch(uri)
        assert not left.exists()
    assert not list(cache_folder().glob("**/*.tmp"))


def test_the_cache_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COCITE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("COCITE_CACHE")
    assert cache_folder().name == f"cocite-cache-{os.getuid()}"


def test_locations_of_different_uris_have_different_keys() -> None:
    keys = {cache_key(Location.of(uri)) for uri in ("memory://a/b", "memory://a/b/", "memory://a/c")}
    assert len(keys) == 2


@everywhere
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


@everywhere
def test_a_corpus_is_copied_without_its_body_sentences(remote: str) -> None:
    starter = starter_corpus()
    Location.of(remote).put(starter.path)
    copy = fetch_bodiless(remote)
    corpus = Corpus.open(copy)
    assert corpus.version == starter.version
    assert len(corpus) == len(starter)
    assert not corpus.has_bodies
    assert not any((copy / name).exists() for name in BODY_FILES)
    assert source_of(copy) == remote
    (copy / "mark").touch()
    assert (fetch_bodiless(remote) / "mark").exists()  # it is copied once
    whole = fetch_local(remote)
    assert Corpus.open(whole).has_bodies
    assert fetch_bodiless(remote) == whole  # what is there needs no second copy
    assert fetch_bodiless(starter.path) == starter.path


@everywhere
def test_a_corpus_that_has_no_body_sentences_is_copied_as_it_is(remote: str) -> None:
    Location.of(f"{remote}/whole").put(starter_corpus().path)
    bodiless = fetch_bodiless(f"{remote}/whole")
    Location.of(f"{remote}/bodiless").put(bodiless)
    assert fetch_bodiless(f"{remote}/bodiless") == fetch_local(f"{remote}/bodiless")


@everywhere
def test_what_is_no_corpus_damaged_or_incomplete_is_not_copied(remote: str, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"holds no manifest\.json"):
        fetch_bodiless(f"{remote}/nothing")
    Location.of(f"{remote}/other").put(write_artifact(tmp_path / "made"))
    with pytest.raises(InputError, match="corpus"):
        fetch_bodiless(f"{remote}/other")
    Location.of(f"{remote}/corpus").put(starter_corpus().path)
    Location.of(f"{remote}/corpus").write("papers.arrow", "wrong")
    for fetch_some in (fetch_bodiless, fetch_local):
        with pytest.raises(IntegrityError, match=re.escape(f"{remote}/corpus/papers.arrow: damaged")):
            fetch_some(f"{remote}/corpus")
    Location.of(f"{remote}/corpus").remove("papers.arrow")
    for fetch_some in (fetch_bodiless, fetch_local):
        sentence = f"{remote}/corpus/papers.arrow: the file is missing (restore it or build it again)"
        with pytest.raises(IntegrityError, match=re.escape(sentence)):
            fetch_some(f"{remote}/corpus")
    assert not list((tmp_path / "cache").rglob(MANIFEST))


@everywhere
def test_what_was_removed_from_a_remote_model_folder_is_not_read_from_its_copy(
    remote: str, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        Location.of(f"{remote}/{name}").put(write_artifact(tmp_path / "made", name))
    Location.of(remote).put(write_artifact(tmp_path / "made", "one"))  # an artifact itself, for a while
    whole = fetch_local(remote)
    Location.of(remote).clear()
    for name in ("one", "two"):
        Location.of(f"{remote}/{name}").put(write_artifact(tmp_path / "made", name))
    assert {"one", "two"} <= {path.name for path in fetch_local(remote).iterdir()}
    Location.of(f"{remote}/two").clear()
    assert sorted(path.name for path in fetch_local(remote).iterdir()) == sorted([whole.name, "one"])
