"""Files, folders and artifacts at a second path."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cocite.artifacts import publish, verify
from cocite.hard_links import link_artifact, link_folder


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    with publish(tmp_path / "shared" / "nnselect", kind="nnselect", meta={}) as folder:
        (folder / "weights").write_text("1 2 3")
    return tmp_path / "shared" / "nnselect"


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    (tmp_path / "trial").mkdir()
    return tmp_path / "trial"


def test_files_are_links_and_the_copy_verifies(artifact: Path, trial: Path) -> None:
    link_artifact(artifact, trial)
    assert (trial / "nnselect" / "weights").stat().st_ino == (artifact / "weights").stat().st_ino
    assert verify(trial / "nnselect").digest == verify(artifact).digest
    assert [path.name for path in trial.iterdir()] == ["nnselect"]


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP])
def test_where_links_cannot_be_files_are_copied(
    artifact: Path, trial: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    link_artifact(artifact, trial)
    assert (trial / "nnselect" / "weights").stat().st_ino != (artifact / "weights").stat().st_ino
    assert verify(trial / "nnselect").digest == verify(artifact).digest


def test_an_error_of_writing_leaves_nothing_behind(
    artifact: Path, trial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", fill)
    monkeypatch.setattr(shutil, "copy2", fill)
    with pytest.raises(OSError, match="No space left"):
        link_artifact(artifact, trial)
    assert not list(trial.iterdir())


def test_a_folder_is_copied_where_links_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "source" / "part").mkdir(parents=True)
    (tmp_path / "source" / "part" / "file").write_text("text")

    def refuse(*_: object) -> None:
        raise OSError("another file system")

    link_folder(tmp_path / "source", tmp_path / "linked")
    monkeypatch.setattr(os, "link", refuse)
    link_folder(tmp_path / "source", tmp_path / "copied")
    source, linked, copied = (tmp_path / name / "part" / "file" for name in ("source", "linked", "copied"))
    assert linked.samefile(source)
    assert not copied.samefile(source)
    assert copied.read_text() == "text"
