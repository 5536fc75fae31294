from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cocite.compiled import compiled


def add_all(total, values):  # type: ignore[no-untyped-def]
    for value in values:
        total += value
    return total


PROGRAM = """
from cocite.compiled import compiled
source = "def double(number): return 2 * number"
names = {}
exec(compile(source, "/proc/version", "exec"), names)  # a file beside which nobody can write
print(compiled(names["double"])(3))
"""


def test_a_compiled_function_gives_what_the_function_gives() -> None:
    assert compiled(add_all)(1, (2, 3)) == add_all(1, (2, 3)) == 6


@pytest.mark.parametrize("writable", [True, False])
def test_machine_code_is_kept_where_something_can_be_written(tmp_path: Path, *, writable: bool) -> None:
    place = str(tmp_path) if writable else "/proc/nowhere"
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | nowhere | {"NUMBA_CACHE_DIR": place},
    )
    assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr
    kept = sorted(path.suffix for path in tmp_path.rglob("*.nb?"))
    assert kept == ([".nbc", ".nbi"] if writable else [])
