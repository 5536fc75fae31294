"""What the cache holds is known by where it was copied from, and goes only where no process uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers.artifacts import write_artifact
from helpers.object_stores import everywhere

from cocite.artifacts import verify
from cocite.errors import NotFoundError
from cocite_jobs.storage import cached_copies as module
from cocite_jobs.storage.cache import cache_folder, cache_key, copies_of, fetch_local, mark_of, source_of
from cocite_jobs.storage.cached_copies import list_copies, named_copies, remove_copy
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch
from cocite_jobs.storage.use_marks import release_all

READER = """
import sys
from cocite_jobs.storage.cache import fetch_local
print(fetch_local(sys.argv[1]), flush=True)
sys.stdin.read()
"""


@everywhere
def test_copies_are_listed_and_removed_and_made_again(remote: str, tmp_path: Path) -> None:
    assert list_copies() == []
    Location.of(f"{remote}/corpus").put(write_artifact(tmp_path / "made"))
    Location.of(f"{remote}/model/one").put(tmp_path / "made")
    Location.of(remote).write("queries.jsonl", "{}")
    for number, name in enumerate(("corpus", "model", "queries.jsonl")):
        copy = fetch(f"{remote}/{name}")
        folder = cache_folder() / copy.relative_to(cache_folder()).parts[0]
        os.utime(mark_of(folder), (number, number))
    size = sum(path.stat().st_size for path in (tmp_path / "made").rglob("*") if path.is_file())
    listed = list_copies()
    shown = remote.replace("anonymous@", "")  # no user is shown
    assert [copy.source for copy in listed] == [f"{shown}/corpus", f"{shown}/model", shown]
    assert [copy.bytes for copy in listed] == [size, size, 2]
    assert [copy.used.timestamp() for copy in listed] == [0, 1, 2]
    assert all(copy.in_use for copy in listed)
    assert not any(remove_copy(copy) for copy in listed)
    release_all()
    assert not any(copy.in_use for copy in list_copies())
    before = datetime.now(UTC)
    again = fetch_local(f"{remote}/corpus")
    [*others, corpus] = list_copies()
    assert corpus.in_use
    assert before.timestamp() - 1 < corpus.used.timestamp()
    assert [remove_copy(copy) for copy in (*others, corpus)] == [True, True, False]
    assert list_copies() == [corpus]
    verify(again)
    release_all()
    assert remove_copy(corpus)
    assert list(cache_folder().iterdir()) == []
    assert source_of(again) is None
    verify(fetch_local(f"{remote}/corpus"))


def test_what_another_process_uses_stays_until_that_process_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheme makes a remote file system of this machine's files, which other processes see, too."""
    monkeypatch.setenv("COCITE_CACHE", str(tmp_path / "cache"))
    uri = f"local://{tmp_path}/store/corpus"
    write_artifact(tmp_path / "store" / "corpus")
    command = [sys.executable, "-c", READER, uri]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        [copy] = list_copies()
        assert (copy.source, copy.in_use) == (uri, True)
        assert not remove_copy(copy)
        verify(path)
        process.kill()
    [copy] = list_copies()
    assert not copy.in_use
    assert remove_copy(copy)
    assert list_copies() == []


def test_earlier_states_and_what_was_left_are_counted_and_go(remote: str, tmp_path: Path) -> None:
    for text in ("one", "two"):
        Location.of(remote).put(write_artifact(tmp_path / "made", text))
        fetch_local(remote)
    size = sum(path.stat().st_size for path in (tmp_path / "made").rglob("*") if path.is_file())
    left = cache_folder() / f".{cache_key(Location.of(remote))}.0123abcd.tmp"
    left.mkdir()
    (left / "half").write_bytes(bytes(100))
    release_all()
    [copy] = list_copies()
    assert copy.bytes == 2 * size + 100
    assert remove_copy(copy)
    assert list(cache_folder().iterdir()) == []


def test_a_removal_that_is_interrupted_leaves_nothing_that_looks_whole(
    remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    Location.of(remote).put(write_artifact(tmp_path / "made"))
    path = fetch_local(remote)
    release_all()
    [copy] = list_copies()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match=r"^$"):
        patch.setattr(module, "remove_stale", interrupt)
        remove_copy(copy)
    assert not path.exists()
    assert list_copies() == [copy]  # its bytes are there
    assert remove_copy(copy)
    assert list(cache_folder().iterdir()) == []


def test_copies_are_chosen_by_name_and_uri_without_passwords(remote: str) -> None:
    secret = Location("s3://key:secret@bucket/corpus", "bucket/corpus", object())
    copies_of(secret)
    copies_of(Location.of(f"{remote}/model"))
    copies = list_copies()
    [corpus] = [copy for copy in copies if copy.source == "s3://bucket/corpus"]
    for name in (corpus.name, "s3://bucket/corpus", "s3://key:other@bucket/corpus/"):
        assert named_copies(copies, [name, name]) == [corpus]
    with pytest.raises(
        NotFoundError, match=r"^s3://bucket/corpse: nothing was copied from there \(did you mean"
    ):
        named_copies(copies, ["s3://bucket/corpse"])
