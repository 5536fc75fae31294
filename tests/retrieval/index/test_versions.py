"""Versions of an artifact: one current, old ones as long as a process reads them."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path

import pytest

from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError, IntegrityError, NotFoundError
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.versions import VersionedFolder


def test_any_flipped_bit_of_current_is_refused(tmp_path: Path) -> None:
    versions = VersionedFolder(tmp_path)
    for name in map("{:06d}".format, range(1, 70)):
        (tmp_path / "versions" / name).mkdir(parents=True)
    versions.publish("000042")
    path, whole = tmp_path / "CURRENT", (tmp_path / "CURRENT").read_bytes()
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(IntegrityError, match=r"CURRENT: damaged: .* names no version .*000069"):
            versions.lock()
    path.write_text("000042\n")  # as an earlier cocite wrote it, or a hand
    assert versions.lock()[0] == "000042"


def _hold(
    root: str, held: multiprocessing.synchronize.Event, done: multiprocessing.synchronize.Event
) -> None:
    with VersionedFolder(root).writing():
        held.set()
        done.wait(600)


def test_two_writers_never_meet(corpus: Corpus, root: Path) -> None:
    IndexSnapshot.create(corpus, root)
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(str(root), held, done))
    process.start()
    try:
        assert held.wait(600)
        with pytest.raises(BusyError, match="is at work here"):
            IndexSnapshot.remove(root, ["p1"])
        assert IndexSnapshot.open(root).version == "000001"
    finally:
        done.set()
        process.join(300)
    assert IndexSnapshot.remove(root, ["p1"]).version == "000002"


@pytest.fixture
def versions(tmp_path: Path) -> VersionedFolder:
    """A folder of four versions."""
    result = VersionedFolder(tmp_path / "artifact")
    for _ in range(4):
        with result.writing() as name:
            result.folder(name).mkdir()
            result.publish(name)
    return result


def test_locked_and_current_versions_are_not_deleted(versions: VersionedFolder) -> None:
    name, lock = versions.lock("000002")
    assert name == "000002"
    versions.publish("000001")
    assert versions.delete_old(keep=1) == ["000003"]
    assert versions.names() == ["000001", "000002", "000004"]
    lock.release()
    lock.release()  # a second time changes nothing
    assert versions.delete_old(keep=1) == ["000002"]


def test_a_lock_ends_with_its_object(versions: VersionedFolder) -> None:
    _, lock = versions.lock("000001")
    assert versions.delete_old(keep=3) == []
    del lock
    assert versions.delete_old(keep=3) == ["000001"]


def test_what_a_killed_writer_left_is_removed(versions: VersionedFolder) -> None:
    remains = versions.root / "versions" / ".000005.partial"
    remains.mkdir()
    with versions.writing() as name:
        assert name == "000005"
        assert not remains.exists()


def test_versions_that_are_not_there(versions: VersionedFolder, tmp_path: Path) -> None:
    for name in ("000009", "latest"):
        with pytest.raises(NotFoundError, match=f"no version '{name}'"):
            versions.lock(name)
    with pytest.raises(InputError, match="no version '000009'"):
        versions.publish("000009")
    with pytest.raises(NotFoundError, match="holds no index"):
        VersionedFolder(tmp_path / "nothing").lock()
    shutil.rmtree(versions.folder("000004"))
    with pytest.raises(IntegrityError, match="the current version 000004 is missing"):
        versions.lock()
