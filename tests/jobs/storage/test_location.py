from __future__ import annotations

import errno
import json
import os
import re
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from types import CodeType

import pytest
from helpers.artifacts import write_artifact
from helpers.object_stores import ObjectStore, everywhere, put_as_other_programs_do
from helpers.synthetic import SyntheticCorpora
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ArrowInvalid

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError, WriteError
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location, translate_errors


@pytest.fixture(params=["local", "memory", "s3", "gs"])
def location(request: pytest.FixtureRequest, folder_in: Callable[[str], str], tmp_path: Path) -> Location:
    kind = request.param
    return Location.of(tmp_path / "folder" if kind == "local" else f"{folder_in(kind)}/folder")


def test_files_are_written_read_listed_and_removed(location: Location) -> None:
    assert (location.names(), location.read("a"), (location / "a").file_state()) == ([], None, None)
    location.write("a", "one")
    location.write("a", "two")
    (location / "inner").write("b", "three")
    assert location.read("a") == b"two"
    assert location.names() == ["a", "inner"]
    states = location.files_below()
    assert {name: size for name, (size, _) in states.items()} == {"a": 3, "inner/b": 5}
    assert states["a"] == (location / "a").file_state()
    (location / "inner").clear()
    (location / "never").clear()
    location.remove("never")
    assert location.names() == ["a"]
    location.remove("a")
    assert location.names() == []


def test_text_is_stored_as_utf8(location: Location) -> None:
    location.write("x.json", json.dumps({"a": "é"}, ensure_ascii=False))
    assert json.loads(location.read("x.json") or b"") == {"a": "é"}
    assert location.read_each(["none", "x.json"]) == [None, location.read("x.json")]


def test_files_of_subfolders_are_uploaded_and_downloaded(location: Location, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "a").write_bytes(bytes(range(256)) * 2**15 + b"8 MiB, and some bytes more than one part")
    (source / "inner" / "b").write_text("b")
    (source / "left").touch()
    location.upload(source, ["a", "inner/b"])
    back = location.download(tmp_path / "back")
    files = sorted(path.relative_to(back).as_posix() for path in back.rglob("*") if path.is_file())
    assert files == ["a", "inner/b"]
    assert (back / "a").read_bytes() == (source / "a").read_bytes()
    with pytest.raises(NotFoundError, match=r"/left: no such file$"):
        location.download(tmp_path / "some", ["a", "left"])


def codes(thread: threading.Thread) -> list[CodeType]:
    """Of the functions in which a thread is."""
    frame = sys._current_frames()[thread.ident or 0]
    return [each.f_code for each, _ in traceback.walk_stack(frame)]


@everywhere
def test_a_file_is_whole_after_ctrl_c_amid_its_upload(remote: str, tmp_path: Path) -> None:
    location = Location.of(remote)
    os.mkfifo(tmp_path / "run.trec")

    def write() -> None:
        with (tmp_path / "run.trec").open("w") as pipe:
            pipe.write("first half")
            pipe.flush()
            end = time.monotonic() + 60
            while Future.result.__code__ not in codes(threading.main_thread()) and time.monotonic() < end:
                time.sleep(0.01)  # until what has begun is waited for
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
            pipe.write(", second half")

    # Where the tests run in the background, Ctrl-C is ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            location.upload(tmp_path, ["run.trec"])
    finally:
        signal.signal(signal.SIGINT, handler)
    writer.join()
    assert location.read("run.trec") == b"first half, second half"


def test_an_artifact_comes_back_whole_and_the_next_replaces_it(location: Location, tmp_path: Path) -> None:
    for text in ("one", "another"):
        location.put(write_artifact(tmp_path / "made", text))
        back = tmp_path / f"back-{text}"
        assert location.get(back).meta == {"of": text}
        assert verify(back).files.keys() == {"inner/a.txt", "b.txt"}
    with pytest.raises(NotFoundError, match=r"holds no manifest\.json"):
        (location / "none").get(tmp_path / "back")


@everywhere
def test_a_damaged_file_is_noticed_when_an_artifact_is_copied(remote: str, tmp_path: Path) -> None:
    location = Location.of(remote)
    location.put(write_artifact(tmp_path / "made"))
    location.write("b.txt", "wrong")
    with pytest.raises(IntegrityError, match=r"b\.txt: damaged"):
        location.get(tmp_path / "back")


@everywhere
def test_a_remote_corpus_opens(remote: str, synthetic: SyntheticCorpora) -> None:
    corpus = synthetic(60, seed=11)
    Location.of(remote).put(corpus.path)
    assert Corpus.open(fetch_local(remote)).version == corpus.version


def test_folders_in_google_cloud_storage_are_seen_that_another_program_uploaded(
    folder_in: Callable[[str], str], gs: ObjectStore
) -> None:
    """They exist by the names of their files alone, and a folder that has nothing else is not empty."""
    location = Location.of(folder_in("gs"))
    for name in ("nnselect/manifest.json", "nnselect/parts/0", "nnrank/manifest.json"):
        put_as_other_programs_do(gs, f"{location.name}/model/{name}", b"{}")
    assert location.names() == ["model"]
    model = location / "model"
    assert model.names() == ["nnrank", "nnselect"]
    for name in model.names():
        assert "manifest.json" in (model / name).names()
        (model / name).clear()
    assert location.names() == []


def test_s3_is_asked_once_for_a_small_file_and_keeps_no_objects_for_folders(
    folder_in: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    """Each request is a message in the log of the server, a thread of this process."""
    location = Location.of(folder_in("s3")) / "deep" / "folder"
    content = bytes(3 * 2**20)
    caplog.set_level("INFO", "werkzeug")
    location.write("small", content)
    assert location.read("small") == content
    requests = re.findall(r'"(?:\x1b\[\d+m)*([A-Z]+) (\S+) HTTP', "\n".join(caplog.messages))
    assert requests == [(method, f"/{location.path}/small") for method in ("PUT", "HEAD", "GET")]


@pytest.mark.parametrize("size", [1, 11 * 2**20])
def test_a_bucket_of_s3_that_is_missing_is_told(folder_in: Callable[[str], str], size: int) -> None:
    missing = Location.of(folder_in("s3").replace("s3://bucket/", "s3://missing/"))
    with pytest.raises(InputError, match=r"^s3://missing/.*: the bucket does not exist \(create it"):
        missing.write("a", bytes(size))


def test_a_bucket_that_is_missing_is_told_and_not_made(folder_in: Callable[[str], str]) -> None:
    folder_in("gs")
    missing = Location.of("gs://anonymous@missing/folder")
    assert missing.names() == []
    with pytest.raises(InputError, match=r"^gs://anonymous@missing/folder: the bucket does not exist"):
        missing.write("a", "one")
    assert missing.read("a") is None


def test_a_store_that_does_not_answer_is_told_within_a_limit() -> None:
    """That of pyarrow is 15 minutes for Google Cloud Storage."""
    for scheme in ("gs", "gcs"):
        files = Location.of(f"{scheme}://anonymous@bucket/folder").files
        [options] = files.__reduce__()[1]
        assert options["retry_time_limit"] == timedelta(minutes=1)
    query = "?endpoint_override=127.0.0.1:9&scheme=http&retry_limit_seconds=1"
    closed = Location.of(f"gs://anonymous@bucket/folder{query}")
    assert closed.uri == f"gs://anonymous@bucket/folder{query}"
    with pytest.raises(
        CociteError, match=r": UNAVAILABLE: [^{]*Could not connect to server \(check the address"
    ):
        closed.names()


@pytest.mark.parametrize("scheme", ["s3", "gs", "gcs"])
def test_a_uri_that_says_what_its_file_system_has_not_is_refused(scheme: str) -> None:
    with pytest.raises(InputError, match="Unexpected query parameter in .* URI: 'tries'"):
        Location.of(f"{scheme}://bucket/folder?tries=3")


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
    with pytest.raises(CociteError, match=r"^gs://bucket: no project \("), translate_errors("gs://bucket"):
        raise ArrowInvalid("google::cloud::Status(no project error_info={reason=INVALID_ARGUMENT})")
    with pytest.raises(FileNotFoundError, match="a"), translate_errors("s3://bucket"):
        raise FileNotFoundError(errno.ENOENT, "none", "a")


@everywhere
def test_a_full_disk_is_not_told_as_an_error_of_the_other_file_system(remote: str, tmp_path: Path) -> None:
    Location.of(remote).write("large", bytes(1 << 20))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(WriteError, match=r"copy: the file would be larger .* \(free some space there\)"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, limits[1]))
        try:
            Location.of(remote).download(tmp_path / "copy", ["large"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


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
