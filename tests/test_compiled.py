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
    assert kept(tmp_path) == ([".nbc", ".nbi"] if writable else [])


def kept(folder: Path) -> list[str]:
    """The kinds of Numba's files in a folder: an index for each function, and machine code for each of its types."""
    return sorted(path.suffix for path in folder.rglob("*.nb?"))


@pytest.mark.parametrize("name", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_code_that_a_job_unpacks_elsewhere_is_not_compiled_again(tmp_path: Path, name: str) -> None:
    module = (
        "from cocite.compiled import compiled\n\n\n@compiled\ndef double(number):\n    return {} * number\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {
        name: str(tmp_path / "kept")
    }
    hits = []
    for package, factor in {"first": 2, "second": 2, "changed": 3}.items():
        folder = tmp_path / package
        folder.mkdir()
        (folder / "loops.py").write_text(module.format(factor))
        program = "from loops import double; print(double(3), len(double.stats.cache_hits))"
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
            env=environment,
        )
        hits.append(done.stdout.split())
        assert not kept(folder)
    assert hits == [["6", "0"], ["6", "1"], ["9", "0"]]
    assert kept(tmp_path / "kept") == [".nbc", ".nbc", ".nbi", ".nbi"]
