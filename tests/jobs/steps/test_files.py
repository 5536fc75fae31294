"""What workers read and write."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from cocite.artifacts import sha256
from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite_jobs.steps.files import (
    fetch_seen,
    fetch_seen_file,
    open_seen,
    read_array,
    read_arrays,
    read_file,
    require_seen,
    write_file,
)
from cocite_jobs.storage.location import Location


def test_a_folder_that_a_worker_does_not_see_is_named(tmp_path: Path) -> None:
    assert fetch_seen(str(tmp_path)) == tmp_path
    with pytest.raises(NotFoundError, match=r"/nowhere: .*, which makes a part, sees no such folder"):
        fetch_seen(str(tmp_path / "nowhere"))


def test_another_corpus_than_the_commands_is_refused() -> None:
    corpus = starter_corpus()
    assert open_seen(str(corpus.path), corpus.version).version == corpus.version
    with pytest.raises(InputError, match=r"sees another corpus here than the command \(give paths that are"):
        open_seen(str(corpus.path), "another")
    require_seen(True, "model", "model")


def test_another_file_than_the_commands_is_refused(tmp_path: Path, remote: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text("{}\n")
    digest = sha256(path)
    Location.of(remote).write("queries.jsonl", "{}\n")
    assert fetch_seen_file(str(path), digest, "file of queries") == path
    assert fetch_seen_file(f"{remote}/queries.jsonl", digest, "file of queries").read_text() == "{}\n"
    Location.of(remote).write("queries.jsonl", "{} \n")
    path.write_text("")
    for source in (str(path), f"{remote}/queries.jsonl"):
        with pytest.raises(InputError, match=r"queries\.jsonl: .* sees another file of queries here"):
            fetch_seen_file(source, digest, "file of queries")
    path.unlink()
    with pytest.raises(NotFoundError, match=r"which makes a part, sees no such file \(put"):
        fetch_seen_file(str(path), digest, "file of queries")


def test_a_file_that_changed_or_went_is_not_read(tmp_path: Path) -> None:
    to = Location.of(tmp_path)
    entry = write_file(to, "000001.npy", b"rows")
    assert (entry["file"], entry["bytes"]) == ("000001.npy", 4)
    assert read_file(to, entry) == b"rows"
    (tmp_path / "000001.npy").write_bytes(b"rowz")
    with pytest.raises(IntegrityError, match=r"000001\.npy: is missing or damaged \(remove the folder"):
        read_file(to, entry)
    (tmp_path / "000001.npy").unlink()
    with pytest.raises(IntegrityError, match="is missing or damaged"):
        read_file(to, entry)


def test_arrays_are_read_from_the_bytes_of_a_store(tmp_path: Path) -> None:
    at, buffer = Location.of(tmp_path), io.BytesIO()
    np.savez(buffer, rows=np.arange(3), depth=np.array(7))
    arrays = read_arrays(at, write_file(at, "ranks.npz", buffer.getvalue()))
    assert arrays["rows"].tolist() == [0, 1, 2]
    assert arrays["depth"] == 7
    buffer = io.BytesIO()
    np.save(buffer, np.array([object()]), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_array(at, write_file(at, "objects.npy", buffer.getvalue()))
