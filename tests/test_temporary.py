from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from cocite import temporary
from cocite.temporary import remove_stale, temporary_beside


@pytest.mark.parametrize("folder", [True, False])
def test_a_temporary_stands_beside_its_destination_and_is_removed(tmp_path: Path, folder: bool) -> None:
    with temporary_beside(tmp_path / "store", folder=folder) as path:
        assert path.parent == tmp_path
        assert path.name.startswith(".store.")
        assert path.is_dir() == folder
        if folder:
            (path / "below").mkdir()
            (path / "below" / "file").touch()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="broken"), temporary_beside(tmp_path / "store", folder=folder):
        raise ValueError("broken")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", [True, False])
def test_what_was_renamed_away_stays(tmp_path: Path, folder: bool) -> None:
    with temporary_beside(tmp_path / "store", folder=folder) as path:
        path.rename(tmp_path / "store")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    stale, other = tmp_path / ".store.0123abcd.tmp", tmp_path / ".stores.0123abcd.tmp"
    kept = [other, tmp_path / ".store.0123.tmp", tmp_path / ".store.0123abc-.tmp", tmp_path / "store"]
    for path in (stale, *kept):
        path.mkdir()
        (path / "file").touch()
    remove_stale(tmp_path / "store")
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    remove_stale(tmp_path / "nowhere" / "store")  # no such folder: nothing to remove


def test_what_a_living_writer_has_stays(tmp_path: Path) -> None:
    with temporary_beside(tmp_path / "store", folder=True) as path:
        with temporary_beside(tmp_path / "store", folder=True) as second:
            assert path != second
            assert path.is_dir()
        assert path.is_dir()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / ".store.0123abcd.tmp").symlink_to(tmp_path / "precious")
    remove_stale(tmp_path / "store")
    assert (tmp_path / "precious").is_dir()


def test_a_temporary_that_was_swept_away_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer may remove the folder between its making and its lock."""
    real, calls = fcntl.flock, []

    def flock(lock: int, how: int) -> None:
        if not calls:
            os.rmdir(next(tmp_path.iterdir()))
        calls.append(how)
        real(lock, how)

    monkeypatch.setattr(temporary.fcntl, "flock", flock)
    with temporary_beside(tmp_path / "store", folder=True) as path:
        assert path.is_dir()
    assert len(calls) == 2


def test_ctrl_c_while_something_stale_is_removed_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``shutil.rmtree`` that is interrupted after it closed a folder closes it again: a bad file descriptor."""
    (tmp_path / ".store.0123abcd.tmp" / "below").mkdir(parents=True)
    real, closed = os.close, []

    def close(descriptor: int) -> None:
        real(descriptor)
        closed.append(descriptor)
        if len(closed) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", close)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        remove_stale(tmp_path / "store")
    remove_stale(tmp_path / "store")
    assert not list(tmp_path.iterdir())
