"""Artifacts appear whole or not at all, and prove that they are undamaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite import artifacts
from cocite.artifacts import load_array, publish, seal, verify
from cocite.errors import InputError, IntegrityError
from cocite.manifests import MANIFEST, read_manifest


def write(destination: Path, text: str = "one", *, replace: bool = False, kind: str = "thing") -> None:
    with publish(destination, kind=kind, meta={"text": text}, replace=replace) as folder:
        (folder / "a.txt").write_text(text)
        (folder / "sub").mkdir(exist_ok=True)
        (folder / "sub" / "b.bin").write_bytes(text.encode() * 100)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_publish_makes_a_whole_artifact_and_leaves_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "art")
    manifest = verify(tmp_path / "deep" / "art", kind="thing")
    assert manifest.kind == "thing"
    assert manifest.meta == {"text": "one"}
    assert set(manifest.files) == {"a.txt", "sub/b.bin"}
    assert manifest.files["sub/b.bin"]["bytes"] == 300
    assert os.listdir(tmp_path / "deep") == ["art"]


def test_meta_may_be_filled_in_the_body(tmp_path: Path) -> None:
    meta: dict[str, int] = {}
    with publish(tmp_path / "art", kind="thing", meta=meta) as folder:
        (folder / "a.txt").write_text("x")
        meta["count"] = 7
    assert read_manifest(tmp_path / "art").meta == {"count": 7}


def test_nothing_is_at_the_destination_while_the_body_runs(tmp_path: Path) -> None:
    with publish(tmp_path / "art", kind="thing", meta={}) as folder:
        (folder / "a.txt").write_text("x")
        assert not (tmp_path / "art").exists()
    assert (tmp_path / "art" / "a.txt").read_text() == "x"


@pytest.mark.parametrize("replace", [False, True])
def test_an_exception_in_the_body_leaves_nothing_new(tmp_path: Path, replace: bool) -> None:
    if replace:
        write(tmp_path / "art", "old")
    with (
        pytest.raises(KeyboardInterrupt, match="in the body"),
        publish(tmp_path / "art", kind="thing", meta={}, replace=replace) as folder,
    ):
        (folder / "a.txt").write_text("half")
        raise KeyboardInterrupt("in the body")
    assert hidden(tmp_path) == []
    if replace:
        assert verify(tmp_path / "art").meta == {"text": "old"}
    else:
        assert not (tmp_path / "art").exists()


def test_without_replace_an_existing_artifact_is_refused_before_the_work_is_done(tmp_path: Path) -> None:
    write(tmp_path / "art", "old")
    ran = False
    with pytest.raises(InputError, match="already exists"), publish(tmp_path / "art", kind="thing", meta={}):
        ran = True
    assert not ran
    assert (tmp_path / "art" / "a.txt").read_text() == "old"


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "art").mkdir()
    write(tmp_path / "art")
    assert verify(tmp_path / "art").meta == {"text": "one"}


@pytest.mark.parametrize("what", ["folder", "file"])
def test_replace_never_removes_what_is_not_an_artifact(tmp_path: Path, what: str) -> None:
    if what == "folder":
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "thesis.tex").write_text("years of work")
    else:
        (tmp_path / "home").write_text("years of work")
    with pytest.raises(InputError, match="not a cocite artifact"):
        write(tmp_path / "home", replace=True)
    kept = tmp_path / "home" / "thesis.tex" if what == "folder" else tmp_path / "home"
    assert kept.read_text() == "years of work"
    assert hidden(tmp_path) == []


def test_replace_through_a_symbolic_link_replaces_its_target(tmp_path: Path) -> None:
    write(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    write(tmp_path / "link", "new", replace=True)
    assert (tmp_path / "link").is_symlink()
    assert verify(tmp_path / "real").meta == {"text": "new"}


@pytest.mark.parametrize("kernel", [True, False])
def test_replace_swaps_old_for_new(tmp_path: Path, kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernel:
        monkeypatch.setattr(artifacts, "_renameat2", lambda one, other: False)
    write(tmp_path / "art", "old")
    with (tmp_path / "art" / "a.txt").open() as reader:
        write(tmp_path / "art", "new", replace=True)
        assert reader.read() == "old"  # who has it open reads on
    assert verify(tmp_path / "art").meta == {"text": "new"}
    assert os.listdir(tmp_path) == ["art"]


def test_a_failed_swap_without_the_kernel_puts_the_old_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "_renameat2", lambda one, other: False)
    write(tmp_path / "art", "old")
    with pytest.raises(FileNotFoundError, match="never"):
        artifacts.exchange(tmp_path / "never", tmp_path / "art")
    assert verify(tmp_path / "art").meta == {"text": "old"}
    assert hidden(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
def test_a_reader_never_finds_the_destination_absent_during_replace(tmp_path: Path) -> None:
    write(tmp_path / "art", "0")
    stop = threading.Event()
    faults: list[Exception] = []
    reads = 0

    def read() -> None:
        nonlocal reads
        while not stop.is_set():
            try:
                text = read_manifest(tmp_path / "art").meta["text"]
                assert text.isdigit()
                reads += 1
            except Exception as error:
                faults.append(error)
                return

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(30):
        write(tmp_path / "art", str(i), replace=True)
    while not reads and reader.is_alive():
        time.sleep(0.01)
    stop.set()
    reader.join()
    assert faults == []
    assert reads > 0


WRITER = """
import os, sys, time
from pathlib import Path
from cocite.artifacts import publish
with publish(Path(sys.argv[1]), kind="thing", meta={"text": "killed"}, replace=True) as folder:
    (folder / "a.txt").write_text("killed")
    print("half", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("old", [True, False])
def test_a_writer_that_is_killed_leaves_what_was_there(tmp_path: Path, old: bool) -> None:
    if old:
        write(tmp_path / "art", "old")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "art")], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "half\n"
        writer.send_signal(signal.SIGKILL)
        assert writer.wait() == -signal.SIGKILL
    if old:
        assert verify(tmp_path / "art").meta == {"text": "old"}
    else:
        assert not (tmp_path / "art").exists()
    write(tmp_path / "art", "next", replace=True)  # its remains stand in nobody's way
    assert verify(tmp_path / "art").meta == {"text": "next"}


def test_of_two_writers_without_replace_one_wins_and_the_other_raises(tmp_path: Path) -> None:
    inner = publish(tmp_path / "art", kind="thing", meta={"text": "first"})
    with (
        pytest.raises(InputError, match="already exists"),
        publish(tmp_path / "art", kind="thing", meta={"text": "second"}) as late,
    ):
        (late / "a.txt").write_text("second")
        with inner as early:
            (early / "a.txt").write_text("first")
    assert verify(tmp_path / "art").meta == {"text": "first"}
    assert hidden(tmp_path) == []


def test_concurrent_replacing_writers_leave_one_whole_artifact(tmp_path: Path) -> None:
    faults: list[Exception] = []

    def run(number: int) -> None:
        try:
            for i in range(10):
                write(tmp_path / "art", f"{number}-{i}", replace=True)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    text = verify(tmp_path / "art").meta["text"]
    assert (tmp_path / "art" / "a.txt").read_text() == text
    assert os.listdir(tmp_path) == ["art"]


def test_the_seal_covers_the_manifests_of_nested_artifacts(tmp_path: Path) -> None:
    with publish(tmp_path / "outer", kind="outer", meta={}) as folder:
        write(folder / "inner")
    assert "inner/manifest.json" in verify(tmp_path / "outer").files
    inner = tmp_path / "outer" / "inner" / MANIFEST
    inner.write_text(inner.read_text().replace("one", "two"))
    with pytest.raises(IntegrityError, match=r"inner/manifest\.json"):
        verify(tmp_path / "outer")


@given(position=st.integers(0, 299), flip=st.integers(1, 255))
def test_verify_names_a_file_with_any_byte_changed(
    tmp_path_factory: pytest.TempPathFactory, position: int, flip: int
) -> None:
    base = tmp_path_factory.mktemp("damage")
    write(base / "art")
    file = base / "art" / "sub" / "b.bin"
    data = bytearray(file.read_bytes())
    data[position] ^= flip
    file.write_bytes(data)
    with pytest.raises(IntegrityError, match=r"sub/b\.bin: damaged"):
        verify(base / "art")


def test_a_seal_takes_over_what_is_known_of_linked_files(tmp_path: Path) -> None:
    write(tmp_path / "old")
    known = read_manifest(tmp_path / "old").files
    for name in ("a.txt", "sub/b.bin"):
        (tmp_path / "new" / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(tmp_path / "old" / name, tmp_path / "new" / name)
    (tmp_path / "new" / "more.txt").write_text("more")
    (tmp_path / "old" / "a.txt").write_text("two")  # as long as before
    (tmp_path / "old" / "sub" / "b.bin").write_bytes(b"of another length")
    manifest = seal(tmp_path / "new", kind="thing", meta={}, known=known)
    assert manifest.files["a.txt"] == known["a.txt"]
    assert manifest.files["sub/b.bin"] != known["sub/b.bin"]
    with pytest.raises(IntegrityError, match=r"a\.txt: damaged: its SHA-256"):
        verify(tmp_path / "new")


def test_verify_names_a_short_a_missing_and_a_foreign_file(tmp_path: Path) -> None:
    write(tmp_path / "art")
    file = tmp_path / "art" / "a.txt"
    file.write_text("on")
    with pytest.raises(IntegrityError, match=r"a\.txt: damaged: 2 bytes where the manifest says 3"):
        verify(tmp_path / "art")
    file.unlink()
    with pytest.raises(IntegrityError, match=r"a\.txt: the file is missing"):
        verify(tmp_path / "art")
    file.write_text("one")
    (tmp_path / "art" / "extra.txt").write_text("x")
    with pytest.raises(IntegrityError, match=r"extra\.txt: the manifest does not name this file"):
        verify(tmp_path / "art")


def test_sealing_again_gives_the_same_manifest(tmp_path: Path) -> None:
    write(tmp_path / "art")
    before = (tmp_path / "art" / MANIFEST).read_bytes()
    seal(tmp_path / "art", kind="thing", meta={"text": "one"})
    assert (tmp_path / "art" / MANIFEST).read_bytes() == before


def test_arrays_are_loaded_mapped_or_whole_and_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(4))
    assert isinstance(load_array(tmp_path / "a.npy"), np.memmap)
    assert not isinstance(load_array(tmp_path / "a.npy", mapped=False), np.memmap)
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    (tmp_path / "short.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:100])
    (tmp_path / "empty.npy").touch()
    for name in ("o.npy", "short.npy", "empty.npy", "none.npy"):
        for mapped in (True, False):
            with pytest.raises(IntegrityError, match=rf"{name}: not a readable array"):
                load_array(tmp_path / name, mapped=mapped)
