from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cocite.atomic_files import replace_file, replace_files, write_atomic


def test_write_atomic_replaces_and_leaves_no_temporary(tmp_path: Path) -> None:
    write_atomic(tmp_path / "CURRENT", "v1")
    write_atomic(tmp_path / "CURRENT", "v2 é")
    assert (tmp_path / "CURRENT").read_text(encoding="utf-8") == "v2 é"
    assert os.listdir(tmp_path) == ["CURRENT"]


def test_write_atomic_keeps_the_old_text_when_it_fails(tmp_path: Path) -> None:
    write_atomic(tmp_path / "CURRENT", "v1")
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        write_atomic(tmp_path / "CURRENT", "lone surrogate \ud800")
    assert (tmp_path / "CURRENT").read_text() == "v1"
    assert os.listdir(tmp_path) == ["CURRENT"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run"
    with replace_file(path) as file:
        file.write(b"one")
    with pytest.raises(KeyboardInterrupt, match="in the body"), replace_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt("in the body")
    assert path.read_text() == "one"
    assert os.listdir(path.parent) == ["run"]


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(tmp_path / "pipe", "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_files_of_a_folder_are_replaced_together(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for name in ("a", "other"):
        (tmp_path / "out" / name).write_text("old")
    with pytest.raises(ValueError, match="in the body"), replace_files(tmp_path / "out") as folder:
        assert folder is not None
        (folder / "a").write_text("half")
        raise ValueError("in the body")
    assert (tmp_path / "out" / "a").read_text() == "old"
    with replace_files(tmp_path / "out") as folder:
        assert folder is not None
        (folder / "a").write_text("new")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {
        "a": "new",
        "other": "old",
    }
    assert os.listdir(tmp_path) == ["out"]
    with replace_files(None) as folder:
        assert folder is None
