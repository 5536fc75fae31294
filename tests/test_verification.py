"""Artifacts are checked when they are opened, and large ones no more often than their files change."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from cocite import verification
from cocite.artifacts import load_array, publish, verify
from cocite.errors import CociteError, IntegrityError, NotFoundError, WriteError
from cocite.manifests import MANIFEST, Manifest, read_json, read_manifest
from cocite.verification import SWITCH, open_verified, open_verified_once, verify_now

Open = Callable[..., Manifest]


@pytest.fixture(params=[open_verified, open_verified_once], ids=["model", "data"])
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Open:
    """Either way to open an artifact, where nothing is remembered yet and no file counts as settled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(verification, "SETTLED_NS", 3600 * 10**9)
    monkeypatch.setattr(verification, "_IN_PROCESS", {})
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The artifacts whose files were compared with their SHA-256, in order."""
    found: list[Path] = []

    def spy(folder: Path, **options: bool) -> Manifest:
        found.append(folder)
        return verify(folder, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(verification, "verify", spy)
    return found


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    with publish(tmp_path / "thing", kind="thing", meta={"a": 1}) as folder:
        (folder / "one.bin").write_bytes(b"1" * 1000)
        (folder / "sub").mkdir()
        (folder / "sub" / "two.txt").write_text("two")
    return tmp_path / "thing"


@pytest.fixture
def settle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """Lets the files there are count as settled, once a change to one would get another time."""

    def settle() -> None:
        probe = tmp_path / "probe"
        probe.touch()
        now = probe.stat().st_ctime_ns
        while probe.stat().st_ctime_ns == now:
            probe.touch()
        monkeypatch.setattr(verification, "SETTLED_NS", 0)

    return settle


def test_an_undamaged_artifact_is_read_once(
    opened: Open, artifact: Path, reads: list[Path], settle: Callable[[], None]
) -> None:
    assert opened(artifact, kind="thing") == read_manifest(artifact)
    opened(artifact, kind="thing")
    assert len(reads) == 2, "files that were changed just now are not trusted to show the next change"
    settle()
    for _ in range(3):
        opened(artifact, kind="thing")
    assert len(reads) == 3
    verification._IN_PROCESS.clear()  # another process
    opened(artifact, kind="thing")
    assert len(reads) == (4 if opened is open_verified else 3)


@pytest.mark.parametrize("name", ["one.bin", "sub/two.txt", MANIFEST])
def test_a_change_after_that_is_noticed_though_size_and_time_stay(
    opened: Open, artifact: Path, name: str, settle: Callable[[], None]
) -> None:
    settle()
    opened(artifact, kind="thing")
    path = artifact / name
    before, data = path.stat(), bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(IntegrityError, match=path.name):
        opened(artifact, kind="thing")
    data[0] ^= 1
    path.write_bytes(data)
    opened(artifact, kind="thing")


def test_a_copy_of_another_file_in_its_place_is_noticed(
    opened: Open, artifact: Path, settle: Callable[[], None]
) -> None:
    settle()
    opened(artifact, kind="thing")
    other = artifact.with_name("other.bin")
    other.write_bytes(b"2" * 1000)
    other.replace(artifact / "one.bin")
    with pytest.raises(IntegrityError, match=r"one\.bin: damaged: its SHA-256"):
        opened(artifact, kind="thing")
    (artifact / "one.bin").unlink()
    with pytest.raises(IntegrityError, match=r"one\.bin: the file is missing"):
        opened(artifact, kind="thing")
    (artifact / "one.bin").mkdir()
    with pytest.raises(IntegrityError, match=r"one\.bin: the file is missing: this is none"):
        opened(artifact, kind="thing")


def test_a_foreign_file_is_refused_in_a_model_alone(artifact: Path) -> None:
    (artifact / "notes.txt").write_text("mine")  # a loader may look for files that are optional
    with pytest.raises(IntegrityError, match=r"notes\.txt: the manifest does not name this file"):
        open_verified(artifact, kind="thing")
    open_verified_once(artifact, kind="thing")


@pytest.mark.parametrize("opened", [open_verified_once], indirect=True)
def test_what_is_remembered_proves_nothing_when_it_is_damaged_or_of_another(
    opened: Open, artifact: Path, reads: list[Path], tmp_path: Path, settle: Callable[[], None]
) -> None:
    settle()
    opened(artifact)
    [stamp] = (tmp_path / "cache" / "cocite" / "verified").iterdir()
    whole = stamp.read_bytes()
    another = whole[:-2] + (b"1\n" if whole.endswith(b"0\n") else b"0\n")
    for content in (b"", b"\xff\xfe", another, b"0" * 64):
        stamp.write_bytes(content)
        opened(artifact)
        assert len(reads) == 2
        reads.pop()
    shutil.copytree(artifact, tmp_path / "copy")
    settle()
    opened(tmp_path / "copy")
    assert reads[1:] == [tmp_path / "copy"]


@pytest.mark.parametrize("opened", [open_verified_once], indirect=True)
def test_verifying_reads_whatever_is_remembered_and_is_remembered_itself(
    opened: Open, artifact: Path, reads: list[Path], settle: Callable[[], None]
) -> None:
    settle()
    verify_now(artifact, kind="thing")
    opened(artifact)
    assert len(reads) == 1
    verify_now(artifact)
    assert len(reads) == 2


@pytest.mark.parametrize("opened", [open_verified_once], indirect=True)
def test_without_a_place_to_remember_in_each_opening_reads(
    opened: Open,
    artifact: Path,
    reads: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settle: Callable[[], None],
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    settle()
    opened(artifact)
    opened(artifact)
    assert len(reads) == 2


@pytest.mark.parametrize("opened", [open_verified_once], indirect=True)
def test_a_stamp_that_cannot_be_written_is_done_without(
    opened: Open,
    artifact: Path,
    reads: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    settle: Callable[[], None],
) -> None:
    def full(path: Path, text: str) -> None:
        raise WriteError("no space left on the device", where=str(path))

    monkeypatch.setattr(verification, "write_atomic", full)
    settle()
    opened(artifact)
    opened(artifact)
    assert len(reads) == 2


def test_the_switch_leaves_presence_and_size_and_is_not_for_models(
    artifact: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(SWITCH, "")
    verification.switch_off()
    (artifact / "one.bin").write_bytes(b"2" * 1000)
    open_verified_once(artifact)
    assert reads == []
    with pytest.raises(IntegrityError, match=r"one\.bin: damaged"):
        open_verified(artifact)
    monkeypatch.setenv(SWITCH, "1")
    with pytest.raises(IntegrityError, match=r"one\.bin: damaged"):
        open_verified_once(artifact)  # what was not read is not remembered as undamaged
    monkeypatch.setenv(SWITCH, "0")
    (artifact / "one.bin").write_bytes(b"2")
    with pytest.raises(IntegrityError, match=r"one\.bin: damaged: 1 bytes"):
        open_verified_once(artifact)


def test_a_large_artifact_is_announced(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    open_verified_once(artifact)
    assert caplog.messages == []
    monkeypatch.setattr(verification, "LARGE", 100)
    open_verified_once(artifact)
    assert caplog.messages == [f"{artifact}: comparing 0.0 GB with their SHA-256"]


# -- what may not be read is not damaged ------------------------------------------------------------------------


@contextmanager
def as_nobody() -> Iterator[None]:
    """Not as root, who may read everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("denied", ["a.npy", "sub/b.json", MANIFEST, "sub", "."])
def test_no_permission_is_not_called_damage(shared: Path, denied: str) -> None:
    with publish(shared / "thing", kind="thing", meta={}) as folder:
        (folder / "sub").mkdir()
        np.save(folder / "a.npy", np.arange(3))
        (folder / "sub" / "b.json").write_text("{}")
    folder = shared / "thing"
    path = folder / denied
    mode = path.stat().st_mode
    path.chmod(0)
    reading = {
        "a.npy": lambda: load_array(folder / "a.npy"),
        "sub/b.json": lambda: read_json(folder / "sub/b.json"),
    }
    try:
        with as_nobody():
            for read in (
                reading.get(denied, lambda: verify(folder)),
                lambda: verify(folder, foreign=False),
                lambda: open_verified(folder),
                lambda: open_verified_once(folder),
            ):
                with pytest.raises(CociteError, match="cannot be read: Permission denied") as error:
                    read()
                assert not isinstance(error.value, IntegrityError | NotFoundError)
                assert str(error.value.where).startswith(str(path.resolve()))
                assert error.value.exit_code == 1
    finally:
        path.chmod(mode)
    open_verified(folder)
