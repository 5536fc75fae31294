"""Copies of what lies elsewhere, and uploads: every kind of file and folder that commands read and write."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.artifacts import write_artifact
from helpers.object_stores import everywhere
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import verify
from cocite.errors import BusyError, InputError, NotFoundError
from cocite.manifests import MANIFEST
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.versions import current_text
from cocite_jobs.storage.cache import source_of
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch, uploaded


@everywhere
def test_a_file_is_copied_once_and_again_when_it_has_changed(remote: str) -> None:
    Location.of(remote).write("queries.jsonl", "one")
    first = fetch(f"{remote}/queries.jsonl")
    assert (first.name, first.read_text()) == ("queries.jsonl", "one")
    Location.of(remote).write("queries.jsonl", "another")
    assert fetch(f"{remote}/queries.jsonl").read_text() == "another"
    assert first.read_text() == "one"  # a process that reads the old copy reads on
    with pytest.raises(NotFoundError, match="nothing is there"):
        fetch(f"{remote}/none")


@everywhere
def test_a_folder_of_files_is_copied_whole(remote: str) -> None:
    for folder, name in (("records", "a.jsonl"), ("records/inner", "b.jsonl")):
        (Location.of(remote) / folder).write(name, name)
    copy = fetch(f"{remote}/records")
    assert sorted(path.name for path in copy.rglob("*.jsonl")) == ["a.jsonl", "b.jsonl"]


@everywhere
def test_an_artifact_is_uploaded_whole_and_replaced_only_if_asked_to(remote: str, tmp_path: Path) -> None:
    with uploaded(f"{remote}/made", replace=False) as path:
        write_artifact(path)
        path.with_name("made.rejects.jsonl").write_text("rejected")
    assert Location.of(remote).read("made.rejects.jsonl") == b"rejected"
    assert verify(fetch(f"{remote}/made"))
    with (
        pytest.raises(InputError, match=r"already exists \(choose"),
        uploaded(f"{remote}/made", replace=False),
    ):
        pass
    with uploaded(f"{remote}/made", replace=True) as path:
        write_artifact(path, "new")
    assert verify(fetch(f"{remote}/made")).meta == {"of": "new"}
    Location.of(f"{remote}/thesis").write("thesis.tex", "years of work")
    with pytest.raises(InputError, match=r"holds no manifest"), uploaded(f"{remote}/thesis", replace=True):
        pass


@everywhere
def test_an_upload_that_was_cut_off_is_not_in_the_way(remote: str) -> None:
    to = f"{remote}/made"
    with pytest.raises(FileNotFoundError, match="made"), uploaded(to, replace=False) as path:
        write_artifact(path)
        next(file for file in path.iterdir() if file.name != MANIFEST).unlink()
    Location.of(to).write("part", "of it")
    for _ in range(2):
        with uploaded(to, replace=False) as path:
            write_artifact(path)
        assert Location.of(remote).names() == ["made"]
        assert "part" not in Location.of(to).names()
        with pytest.raises(InputError, match="already exists"), uploaded(to, replace=False):
            pass
        Location.of(to).clear()


@everywhere
def test_nothing_is_uploaded_when_the_command_fails(remote: str) -> None:
    with pytest.raises(ValueError, match="half"), uploaded(f"{remote}/run.trec") as path:
        path.write_text("half")
        raise ValueError("half")
    assert Location.of(remote).names() == []


@pytest.mark.parametrize("bucket", ["gs://bucket/", "s3://bucket?region=us-east-1"])
def test_a_whole_bucket_is_no_place_to_write_to(bucket: str) -> None:
    with pytest.raises(InputError, match=r"is a whole bucket \(name a folder in it\)"), uploaded(bucket):
        pass


@everywhere
def test_an_index_gets_its_next_version_elsewhere(remote: str, synthetic: SyntheticCorpora) -> None:
    corpus = synthetic(60, seed=11)
    for version in ("000001", "000002"):
        with uploaded(f"{remote}/index") as path:
            IndexSnapshot.create(corpus, path)
        copy = fetch(f"{remote}/index")
        assert source_of(copy) == f"{remote}/index"
        assert open_index(copy).version == version
    assert Location.of(f"{remote}/index/versions").names() == ["000001", "000002"]


@everywhere
def test_shards_of_an_index_are_copied_one_by_one(remote: str, synthetic: SyntheticCorpora) -> None:
    with uploaded(f"{remote}/index") as path:
        ShardedIndex.create(synthetic(60, seed=11), path, shards=3)
    shards = fetch(f"{remote}/index", shards=()) / "versions" / "000001" / "shards"
    assert not shards.exists()
    assert fetch(f"{remote}/index", shards=(1,)).is_dir()
    assert [path.name for path in shards.iterdir()] == ["0001"]
    assert open_index(fetch(f"{remote}/index")).version == "000001"


@everywhere
def test_an_index_that_was_built_anew_replaces_the_copy_of_the_one_before(
    remote: str, synthetic: SyntheticCorpora
) -> None:
    for papers in (60, 40):
        Location.of(f"{remote}/index").clear()
        with uploaded(f"{remote}/index") as path:
            ShardedIndex.create(synthetic(papers, seed=11), path, shards=2)
        index = open_index(fetch(f"{remote}/index"))
        assert (index.version, len(index)) == ("000001", papers)


@everywhere
def test_of_two_commands_that_make_a_version_the_second_is_told(
    remote: str, synthetic: SyntheticCorpora
) -> None:
    uri = f"{remote}/index"
    for first in (True, False):
        with (
            pytest.raises(BusyError, match="has made another version current meanwhile"),
            uploaded(uri) as slow,
        ):
            with uploaded(uri) as quick:
                IndexSnapshot.create(synthetic(60, seed=11), quick)
            IndexSnapshot.create(synthetic(40, seed=11), slow)
        assert len(open_index(fetch(uri))) == 60, first


@everywhere
def test_a_version_that_is_not_current_gives_its_number_to_the_next(
    remote: str, synthetic: SyntheticCorpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"{remote}/index"
    for papers in (60, 50):
        with uploaded(uri) as path:
            IndexSnapshot.create(synthetic(papers, seed=11), path)
    Location.of(uri).write("CURRENT", current_text("000001"))
    monkeypatch.setenv("COCITE_CACHE", str(tmp_path / "of-another-machine"))
    with uploaded(uri) as path:
        IndexSnapshot.create(synthetic(40, seed=11), path)
    assert len(open_index(fetch(uri))) == 40
