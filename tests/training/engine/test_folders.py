from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import WriteError
from cocite.training.engine.folders import LocalFolder


def test_files_are_replaced_whole_and_go_with_the_folder(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path) / "mining" / "round"
    assert folder.names() == []
    assert folder.read("block") is None
    folder.write("block", b"old")
    folder.write("block", b"new")
    folder.write("another", b"")
    assert folder.names() == ["another", "block"]
    assert folder.read("block") == b"new"
    assert LocalFolder(tmp_path / "mining").names() == ["round"]
    folder.clear()
    assert folder.names() == []
    folder.clear()  # one that is not there


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = LocalFolder(tmp_path / "file") / "round"
    with pytest.raises(WriteError, match="cannot be written: not a directory"):
        folder.write("block", b"new")
    assert folder.names() == []
    assert folder.read("block") is None
