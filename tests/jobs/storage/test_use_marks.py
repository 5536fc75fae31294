"""What a living process uses is marked, whichever way the process ends."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cocite_jobs.storage.use_marks import hold, release_all, unused

HOLDER = """
import sys
from pathlib import Path
from cocite_jobs.storage.use_marks import hold
hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cache" / "corpus.used"
    release_all()


def is_free(mark: Path) -> bool:
    with unused(mark) as free:
        return free


def test_what_a_process_uses_is_in_use_until_it_is_killed(mark: Path) -> None:
    assert is_free(mark)
    command = [sys.executable, "-c", HOLDER, str(mark)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert not is_free(mark)
        hold(mark)  # two may use it
        process.kill()
    assert not is_free(mark)
    release_all()
    assert is_free(mark)


def test_several_threads_of_a_process_hold_one_lock(mark: Path) -> None:
    threads = [threading.Thread(target=hold, args=(mark,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not is_free(mark)
    release_all()
    assert is_free(mark)


def test_a_mark_says_when_something_was_last_asked_for(mark: Path) -> None:
    hold(mark)
    first = mark.stat().st_mtime_ns
    is_free(mark)
    assert mark.stat().st_mtime_ns == first
    hold(mark)
    assert mark.stat().st_mtime_ns > first


def test_whoever_asks_amid_a_removal_waits_for_its_end(mark: Path) -> None:
    hold(mark)
    release_all()
    with unused(mark) as free:
        assert free
        waiting = threading.Thread(target=hold, args=(mark,))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        mark.unlink()
    waiting.join(30)
    assert not is_free(mark)


def test_what_was_removed_with_its_folder_is_marked_anew(mark: Path) -> None:
    hold(mark)
    shutil.rmtree(mark.parent)
    hold(mark)
    assert not is_free(mark)
