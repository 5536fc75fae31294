from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from helpers.artifacts import write_artifact
from helpers.synthetic import SyntheticCorpora
from hypothesis import given
from hypothesis import strategies as st

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location, translate_errors


@pytest.fixture(params=["local", "remote"])
def location(request: pytest.FixtureRequest, remote: str, tmp_path: Path) -> Location:
    return Location.of(tmp_path / "folder" if request.param == "local" else f"{remote}/folder")


def test_files_are_written_read_listed_and_removed(location: Location) -> None:
    assert (location.names(), location.read("a")) == ([], None)
    location.write("a", "one")
    location.write("a", "two")
    (location / "inner").write("b", "three")
    assert location.read("a") == b"two"
    assert location.names() == ["a", "inner"]
    (location / "inner").clear()
    (location / "never").clear()
    assert location.names() == ["a"]


def test_text_is_stored_as_utf8(location: Location) -> None:
    location.write("x.json", json.dumps({"a": "é"}, ensure_ascii=False))
    assert json.loads(location.read("x.json") or b"") == {"a": "é"}


def test_files_of_subfolders_are_uploaded_and_downloaded(location: Location, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "a").write_bytes(bytes(range(256)))
    (source / "inner" / "b").write_text("b")
    (source / "left").touch()
    location.upload(source, ["a", "inner/b"])
    back = location.download(tmp_path / "back")
    files = sorted(path.relative_to(back).as_posix() for path in back.rglob("*") if path.is_file())
    assert files == ["a", "inner/b"]
    assert (back / "a").read_bytes() == bytes(range(256))


def test_an_artifact_comes_back_whole_and_the_next_replaces_it(location: Location, tmp_path: Path) -> None:
    for text in ("one", "another"):
        location.put(write_artifact(tmp_path / "made", text))
        back = tmp_path / f"back-{text}"
        assert location.get(back).meta == {"of": text}
        assert verify(back).files.keys() == {"inner/a.txt", "b.txt"}
    with pytest.raises(NotFoundError, match=r"holds no manifest\.json"):
        (location / "none").get(tmp_path / "back")


def test_a_damaged_file_is_noticed_when_an_artifact_is_copied(remote: str, tmp_path: Path) -> None:
    location = Location.of(remote)
    location.put(write_artifact(tmp_path / "made"))
    location.write("b.txt", "wrong")
    with pytest.raises(IntegrityError, match=r"b\.txt: damaged"):
        location.get(tmp_path / "back")


def test_a_remote_corpus_opens(remote: str, synthetic: SyntheticCorpora) -> None:
    corpus = synthetic(60, seed=11)
    Location.of(remote).put(corpus.path)
    assert Corpus.open(fetch_local(remote)).version == corpus.version


def test_paths_are_absolute_and_uris_as_the_user_wrote_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Location.of("model").local == tmp_path / "model"
    assert (Location.of(f"file://{tmp_path}/x") / "y").uri == f"{tmp_path}/x/y"
    assert Location.of("memory://a/b/").uri == "memory://a/b"
    assert Location.of("memory://a/b").local is None
    with pytest.raises(InputError, match=r"nonsense://x: .*nonsense"):
        Location.of("nonsense://x")


@given(st.lists(st.text("abc", min_size=1, max_size=3), max_size=4))
def test_a_path_below_is_the_same_however_it_is_built(names: list[str]) -> None:
    for root in ("/root", "memory://bucket/root"):
        below = Location.of(root)
        for name in names:
            below /= name
        assert below == Location.of("/".join([root, *names]))


def test_errors_of_a_remote_file_system_name_its_uri() -> None:
    with (
        pytest.raises(CociteError, match=r"^s3://bucket: access denied \(check the address, the network"),
        translate_errors("s3://bucket"),
    ):
        raise PermissionError("access denied\nrequest 1234")
    with pytest.raises(CociteError, match=r"^s3://bucket: OSError \("), translate_errors("s3://bucket"):
        raise OSError
    with pytest.raises(FileNotFoundError, match="a"), translate_errors("s3://bucket"):
        raise FileNotFoundError(errno.ENOENT, "none", "a")


def test_the_query_of_a_uri_stays_behind_the_path() -> None:
    """It configures the file system: ``s3://bucket/a?endpoint_override=x/b`` would name another endpoint."""
    query = "?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"
    for root in (f"s3://bucket/models{query}", f"s3://bucket/models/{query}"):
        below = Location.of(root) / "ours" / "nnselect"
        assert below.uri == f"s3://bucket/models/ours/nnselect{query}"
        assert below.path == "bucket/models/ours/nnselect"
        assert Location.of(below.uri).path == below.path
        assert (below.name, below.parent.parent.uri) == ("nnselect", f"s3://bucket/models{query}")
    # Where no file system takes it for a query, it is a part of a name.
    assert (Location.of("memory://a/b?c") / "d").uri == "memory://a/b?c/d"
    assert (Location.of("a?b") / "c").uri.endswith("/a?b/c")
