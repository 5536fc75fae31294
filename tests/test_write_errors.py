"""Errors of writing name the destination, whichever library found them."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest
from helpers.small_disk import run_on_disk

from cocite.artifacts import publish
from cocite.atomic_files import replace_file, replace_files, write_atomic
from cocite.destinations import check_file_destination, check_folder_destination
from cocite.errors import InputError, IntegrityError, WriteError
from cocite.manifests import read_manifest
from cocite.write_errors import write_error

FAILURES = [
    (OSError(errno.ENOSPC, "No space left on device", "/source", None, "/temporary"), "no space left on the device"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), "no space left in the disk quota"),
    (OSError("8192 requested and 512 written"), "no space left on the device"),
    (ValueError("I/O error: No space left on device (os error 28)"), "no space left on the device"),
    (RuntimeError("write error in x: 1 != 4 (No space left on device)"), "no space left on the device"),
    (OSError(errno.EROFS, "Read-only file system", "/store"), "cannot be written: read-only file system"),
    (OSError(errno.EACCES, "Permission denied", "/out"), "cannot be written: permission denied"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "words"), FAILURES, ids=[str(error) for error, _ in FAILURES])
def test_each_error_of_writing_is_a_sentence(error: Exception, words: str) -> None:
    sentence = write_error(error, Path("/out/store"))
    assert sentence is not None
    assert str(sentence).startswith(f"/out/store: {words}")
    assert sentence.exit_code == 1


@pytest.mark.parametrize(
    "error",
    [
        ValueError("3 requested and 2 written"),
        OSError(errno.EACCES, "Permission denied", "/source/papers.jsonl"),
        OSError(errno.ENOENT, "No such file or directory", "/out/store"),
        KeyError("No space"),
    ],
)
def test_any_other_error_is_none(error: Exception) -> None:
    assert write_error(error, Path("/out/store")) is None


def test_the_destination_is_named_and_not_what_is_nested_in_the_temporary_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(WriteError, match=rf"^{tmp_path}/out: no space left"),
        publish(tmp_path / "out", kind="outer", meta={}) as folder,
        publish(folder / "inner", kind="inner", meta={}),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_an_error_of_cocite_in_the_body_stays_what_it_is(tmp_path: Path) -> None:
    with (
        pytest.raises(IntegrityError, match="No space left on device"),
        publish(tmp_path / "out", kind="thing", meta={}),
    ):
        raise IntegrityError("No space left on device, says a file")


WRITERS = """
import json, shutil, sqlite3, sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from safetensors.numpy import save_file

from cocite.write_errors import writing_to

folder, source = Path(sys.argv[1]), Path(sys.argv[2])
many = np.zeros(1_000_000)

def arrow():
    table = pa.table({"a": many})
    with pa.OSFile(str(folder / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)

def lightgbm():
    import lightgbm
    rng = np.random.default_rng(0)
    data = lightgbm.Dataset(rng.random((500, 8)), rng.random(500))
    trees = lightgbm.train({"verbose": -1, "min_data_in_leaf": 1, "num_threads": 1}, data, 400)
    trees.save_model(str(folder / "trees.txt"))

def sqlite():
    from sqlalchemy import create_engine, text
    with create_engine(f"sqlite:///{folder}/x.db").begin() as connection:
        connection.execute(text("create table t (a text)"))
        connection.execute(text("insert into t values (:a)"), {"a": "x" * 2_000_000})

writers = {
    "text": lambda: (folder / "a.txt").write_text("x" * 2_000_000),
    "numpy": lambda: np.save(folder / "a.npy", many),
    "safetensors": lambda: save_file({"a": many}, folder / "a.safetensors"),
    "copy": lambda: shutil.copytree(source, folder / "copy"),
    "arrow": arrow, "lightgbm": lightgbm, "sqlite": sqlite,
}
told = {}
for name, write in writers.items():
    try:
        with writing_to(folder):
            write()
    except Exception as error:
        told[name] = f"{type(error).__name__} {error}"
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
print(json.dumps(told))
"""


def test_a_full_disk_is_one_sentence_whatever_writes(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "big").write_bytes(b"x" * 2_000_000)
    disk = tmp_path / "disk"
    told = json.loads(run_on_disk(disk, WRITERS, tmp_path / "source", options="size=300k").splitlines()[-1])
    hint = "(free some space or choose another place; what was there before is unchanged)"
    sentence = f"WriteError {disk}: no space left on the device {hint}"
    names = ("text", "numpy", "safetensors", "copy", "arrow", "lightgbm", "sqlite")
    assert told == dict.fromkeys(names, sentence)


# -- files ----------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run"
    with replace_file(path) as file:
        file.write(b"one")
    with pytest.raises(KeyboardInterrupt), replace_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
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
    with pytest.raises(ZeroDivisionError), replace_files(tmp_path / "out") as folder:
        assert folder is not None
        (folder / "a").write_text("half")
        raise ZeroDivisionError
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


# -- destinations -----------------------------------------------------------------------------------------------


def test_nothing_else_is_written_into_an_artifact(tmp_path: Path) -> None:
    with publish(tmp_path / "art", kind="thing", meta={}) as folder:
        (folder / "a").write_text("x")
    for place in (tmp_path / "art", tmp_path / "art" / "deep" / "er"):
        with pytest.raises(InputError, match="is a thing, which holds only what its"):
            check_folder_destination(place)
        with pytest.raises(InputError, match="is a thing, which holds only what its"):
            check_file_destination(place / "file")
    with pytest.raises(InputError, match="is a thing"), publish(tmp_path / "art" / "b", kind="x", meta={}):
        pass
    assert (
        set(read_manifest(tmp_path / "art").files)
        == {"a"}
        == set(os.listdir(tmp_path / "art")) - {"manifest.json"}
    )


def test_a_folder_with_a_manifest_of_something_else_is_no_artifact(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    check_folder_destination(tmp_path)
    check_file_destination(tmp_path / "run")


def test_a_file_is_never_written_over_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "queries").write_text("q")
    (tmp_path / "link").symlink_to("queries")
    with pytest.raises(InputError, match="is read by this command"):
        check_file_destination(tmp_path / "link", None, tmp_path / "missing", tmp_path / "queries")
    check_file_destination(tmp_path / "new", tmp_path / "queries")
    check_file_destination(None, tmp_path / "queries")


def test_a_file_above_the_destination_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "loop"):
        with pytest.raises(InputError, match=f"{name}: is a file, not a folder"):
            check_folder_destination(tmp_path / name / "deep")
    with pytest.raises(InputError, match="is a folder, not a file"):
        check_file_destination(tmp_path)
