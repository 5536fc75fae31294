"""Parts in an object store: what is final goes to its place at once, and nothing stays on the machine."""

from __future__ import annotations

from pathlib import Path

from cocite.part_files import LocalFiles
from cocite_jobs.steps.indexing.remote_files import RemoteShardFiles, shard_files
from cocite_jobs.storage.location import Location


def test_parts_are_uploaded_and_read_back(remote: str) -> None:
    parts, version = Location.of(f"{remote}/.index.parts"), Location.of(f"{remote}/index/versions/000001")
    with shard_files(parts, version) as files:
        assert isinstance(files, RemoteShardFiles)
        with files.write("counts/papers/0003") as folder:
            (folder / "text").mkdir()
            (folder / "text" / "a.txt").write_text("a")
        with files.write("final/shard-0003") as folder:
            (folder / "shards" / "0003").mkdir(parents=True)
            (folder / "shards" / "0003" / "b.txt").write_text("b")
        scratch = files.scratch
    assert not scratch.exists()
    assert list(parts.files_below()) == ["counts/papers/0003/text/a.txt"]
    assert list(version.files_below()) == ["shards/0003/b.txt"]
    with shard_files(parts, version) as files:
        first, second = files.read("counts/papers/0003"), files.read("counts/papers/0003")
        assert first == second
        assert (first / "text" / "a.txt").read_text() == "a"
        files.remove("counts")
        files.remove("said")
    assert not parts.files_below()


def test_a_folder_of_this_machine_is_used_as_it_is(tmp_path: Path) -> None:
    here = Location.of(tmp_path)
    with shard_files(here, here) as files:
        assert files == LocalFiles(tmp_path, durable=True)
