"""Locks: another process is refused or waits, and the error names the holder."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cocite.errors import BusyError, InputError, WriteError
from cocite.locks import locked, locked_for_writing

HOLD = """
import sys
from pathlib import Path
from cocite.locks import locked
with locked(Path(sys.argv[1])):
    print(flush=True)
    input()
"""


@contextmanager
def held_elsewhere(path: Path) -> Iterator[int]:
    """A lock that another process holds while the block runs; yields its id."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


def test_the_holder_is_named_and_its_death_releases_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "made" / ".lock"
    with (
        held_elsewhere(path) as number,
        pytest.raises(BusyError, match=rf"^the model: process {number} is at work here \(wait until it ends"),
        locked(path, folder="the model"),
    ):
        pass
    with locked(path):  # it was killed
        assert path.read_text() == f"{os.getpid()} {socket.gethostname()}\n"
    assert not path.exists()


def test_who_waits_is_next_and_never_two_at_once(tmp_path: Path) -> None:
    path, inside, most = tmp_path / ".lock", [], []

    def work() -> None:
        for _ in range(20):
            with locked(path, wait=True):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 80


def test_a_file_where_the_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with (
            pytest.raises(InputError, match="is not a folder, nor can one be made there"),
            locked(folder / ".lock"),
        ):
            pass


def test_a_lock_of_this_process_keeps_out_others_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "a" / ".lock"
    with (
        locked(path),
        pytest.raises(BusyError, match=rf"process {os.getpid()} is at work here"),
        locked(path),
    ):
        pass
    with locked(path):
        pass


def test_a_lock_that_cannot_be_written_names_the_destination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with (
            pytest.raises(WriteError, match=rf"^{tmp_path}/model: no space left on the device"),
            locked_for_writing(tmp_path / ".lock", tmp_path / "model"),
        ):
            pass
        with pytest.raises(OSError, match="No space left on device"), locked(tmp_path / ".lock"):
            pass


def test_errors_of_the_block_are_not_those_of_its_lock(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left on device") as caught,
        locked_for_writing(tmp_path / ".lock", tmp_path),
    ):
        raise OSError(errno.ENOSPC, "No space left on device", "elsewhere")
    assert not isinstance(caught.value, WriteError)
    assert not (tmp_path / ".lock").exists()


def test_the_holder_of_a_destination_is_named_with_what_the_lock_protects(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    for protects, where in ((None, tmp_path), ("s3://model", "s3://model")):
        with (
            locked(path),
            pytest.raises(BusyError, match=rf"^{where}: process {os.getpid()} is at work here"),
            locked_for_writing(path, tmp_path, protects=protects),
        ):
            pass
