"""A module that works on a stranger's data in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cocite import bounded_process
from cocite.bounded_process import answer_apart, error_answer, memory_error
from cocite.errors import InputError

MODULE = """
import json, sys, time
from cocite.bounded_process import bound_process, error_answer, memory_error
from cocite.errors import InputError
job = json.load(sys.stdin)
bound_process(job.get("seconds", 60), job.get("memory", 1 << 28))
if job.get("sleep"):
    time.sleep(job["sleep"])
while job.get("spin"):
    pass
answer = {"echo": job}
try:
    size = len(bytearray(job.get("take", 0)))
except MemoryError:
    answer = error_answer(memory_error(job["memory"], noun="the list", hint="cut it"))
if job.get("wrong"):
    answer = error_answer(InputError("is wrong", where="a.txt", hint="mend it"))
if job.get("mute"):
    sys.exit(1)
json.dump(answer, sys.stdout)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_worker.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_worker"


def ask(module: str, seconds: float = 60, **job: Any) -> dict[str, Any]:
    return answer_apart(module, job, seconds=seconds, noun="the list", hint="cut it")


def test_an_answer_comes_back(module: str) -> None:
    assert ask(module, text="Ü") == {"echo": {"text": "Ü"}}


def test_an_error_comes_back_whole(module: str) -> None:
    with pytest.raises(InputError, match=r"^a\.txt: is wrong \(mend it\)$"):
        ask(module, wrong=True)
    assert error_answer(InputError("is wrong"))["error"]["where"] is None


def test_time_is_bounded(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_process, "START_S", 1.0)
    begin = time.monotonic()
    with pytest.raises(InputError, match=r"^reading the list takes more than 0\.5 s \(cut it\)$"):
        ask(module, seconds=0.5, sleep=60)
    assert time.monotonic() - begin < 30


def test_the_system_ends_what_computes_too_long(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As where nobody waits any more: the limit is that of the process itself.
    code = "import own_worker"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    job = b'{"spin": true, "seconds": -19}'
    begin = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", code], input=job, env=environment, timeout=120, check=False)
    assert ended.returncode < 0
    assert time.monotonic() - begin < 60


def test_memory_is_bounded(module: str) -> None:
    assert "echo" in ask(module, memory=64 << 20, take=8 << 20)
    with pytest.raises(InputError, match=r"^reading the list takes more than 64 MiB of memory \(cut it\)$"):
        ask(module, memory=64 << 20, take=200 << 20)
    assert (
        str(memory_error(1 << 20, noun="it", hint="go")) == "reading it takes more than 1 MiB of memory (go)"
    )


def test_a_process_that_ends_without_an_answer(module: str) -> None:
    with pytest.raises(InputError, match=r"^reading the list takes more time or memory than is allowed"):
        ask(module, mute=True)
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY, "this process is not bounded"
