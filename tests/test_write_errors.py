"""Errors of writing name the destination, whichever library found them."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from helpers.small_disk import run_on_disk

from cocite.artifacts import publish
from cocite.errors import IntegrityError, WriteError
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
