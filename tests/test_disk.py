"""A full disk in the words of each library that writes, and in ours."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from small_disk import run_on_disk

from cocite.disk import disk_error, disk_errors
from cocite.errors import CociteError, NotFoundError

WRITERS = """
import json, shutil, sqlite3, sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from safetensors.numpy import save_file

from cocite.disk import disk_errors

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
        with disk_errors(folder):
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
    hint = "(what was there is kept: make room, then run the command again)"
    sentence = f"CociteError {disk}: No space left on device {hint}"
    names = ("text", "numpy", "safetensors", "copy", "arrow", "lightgbm", "sqlite")
    assert told == dict.fromkeys(names, sentence)


def test_what_is_no_error_of_the_disk_is_let_through(tmp_path: Path) -> None:
    for error in (FileNotFoundError(errno.ENOENT, "No such file"), ValueError("No space left on device")):
        assert disk_error(error) is None
        with pytest.raises(type(error), match="No s"), disk_errors(tmp_path):
            raise error
    with pytest.raises(NotFoundError, match="^told already$"), disk_errors(tmp_path):
        raise NotFoundError("told already")


def test_a_file_that_may_not_be_written_is_named_itself() -> None:
    error = PermissionError(errno.EACCES, "Permission denied", "/there/file")
    with (
        pytest.raises(CociteError, match=r"^/there/file: Permission denied \(check the rights"),
        disk_errors("x"),
    ):
        raise error
