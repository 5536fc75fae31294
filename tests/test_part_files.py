"""A folder of a part appears whole, and takes the place of what a lost worker left."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cocite import part_files
from cocite.errors import WriteError
from cocite.part_files import LocalFiles


@pytest.mark.parametrize("durable", [False, True])
def test_a_folder_appears_whole_and_is_replaced_whole(tmp_path: Path, durable: bool) -> None:
    files = LocalFiles(tmp_path, durable=durable)
    for content in ("one", "two"):
        with files.write("counts/papers/0000") as folder:
            (folder / content).mkdir()
            (folder / content / "a.txt").write_text(content)
            seen = files.read("counts/papers/0000")
            assert (
                [path.name for path in seen.iterdir()] == ["one"] if content == "two" else not seen.exists()
            )
        assert os.listdir(files.read("counts/papers/0000")) == [content]
    assert os.listdir(tmp_path / "counts" / "papers") == ["0000"]
    files.remove("counts")
    files.remove("counts")
    assert not list(tmp_path.iterdir())


def test_folders_and_pieces_of_files_are_read_where_they_are(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    for name in ("0", "1"):
        with files.write(name) as folder:
            (folder / "a.bin").write_bytes(bytes(range(9)))
    assert list(files.each(["1", "0"], ["a.bin"])) == [tmp_path / "1", tmp_path / "0"]
    pieces = files.pieces([("0/a.bin", 2, 4), ("1/a.bin", 8, 9)])
    files.remove("0")
    assert [piece.to_pybytes() for piece in pieces] == [b"\2\3", b"\10"]


def test_an_error_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalFiles(tmp_path, durable=True)

    def fail() -> None:
        with files.write("names") as folder:
            (folder / "a.txt").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        fail()
    assert not list(tmp_path.iterdir())

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(part_files, "sync", full)
    with pytest.raises(WriteError, match="no space left on the device"), files.write("names") as folder:
        (folder / "a.txt").touch()
    assert not list(tmp_path.iterdir())
