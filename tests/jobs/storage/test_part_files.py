"""Parts in an object store: whole folders, some of their files and pieces of these, and nothing stays here."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.object_stores import everywhere

from cocite.errors import NotFoundError
from cocite.part_files import LocalFiles
from cocite_jobs.storage import part_files as module
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.part_files import RemoteFiles, part_files


@everywhere
def test_what_is_written_is_read_whole_and_in_pieces(remote: str) -> None:
    with part_files(Location.of(remote)) as files:
        assert isinstance(files, RemoteFiles)
        scratch = files.scratch
        for number in range(3):
            with files.write(f"resolved/{number:05d}") as folder:
                (folder / "runs.bin").write_bytes(bytes(range(10 * number, 10 * number + 10)))
                (folder / "other.txt").touch()
        assert not list(scratch.rglob("runs.bin"))
        assert (files.read("resolved/00002") / "runs.bin").read_bytes()[0] == 20
        places = [("resolved/00002/runs.bin", 3, 5), ("resolved/00000/runs.bin", 0, 1)]
        places += [("resolved/00000/runs.bin", 4, 10), ("resolved/00002/runs.bin", 9, 10)]
        found = [piece.to_pybytes() for piece in files.pieces(places)]
        assert found == [bytes(part) for part in ([23, 24], [0], range(4, 10), [29])]
        assert files.pieces([]) == []
        assert not list(files.read("kept/00000").iterdir())
    assert not scratch.exists()


@pytest.mark.parametrize("ahead", [1, 2, 9])
def test_folders_are_copied_a_few_at_a_time(remote: str, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AHEAD", ahead)
    names = [f"resolved/{number:05d}" for number in range(6)]
    for name in names:
        (Location.of(remote) / name).write("text", name)
        (Location.of(remote) / name).write("more", name)
    with part_files(Location.of(remote)) as files:
        assert isinstance(files, RemoteFiles)
        seen = []
        for folder in files.each(names, ["text"]):
            seen.append((folder / "text").read_text())
            copies = list(files.scratch.rglob("text"))
            assert 1 <= len(copies) <= ahead + 1
            assert not list(files.scratch.rglob("more"))
        assert seen == names
        assert not list(files.scratch.rglob("text"))
        [whole] = [sorted(path.name for path in folder.iterdir()) for folder in files.each(names[:1])]
        assert whole == ["more", "text"]
        with pytest.raises(NotFoundError, match=r"/unknown: no such file$"):
            list(files.each(names, ["unknown"]))


def test_an_error_uploads_nothing(remote: str) -> None:
    parts = Location.of(remote)

    def fail() -> None:
        with part_files(parts) as files, files.write("names") as folder:
            (folder / "a.txt").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        fail()
    assert not parts.files_below()


def test_a_folder_of_this_machine_is_used_as_it_is(tmp_path: Path) -> None:
    with part_files(Location.of(tmp_path)) as files:
        assert files == LocalFiles(tmp_path)
