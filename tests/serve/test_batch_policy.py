"""The policy of processes that a block starts; that an endpoint's have it: tests/integration/endpoint."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cocite_serve.batch_policy import batch_policy

PROBE = """
import os, subprocess, sys

print(os.sched_getscheduler(0))
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"], check=True)
"""


def policies(script: Path) -> list[int]:
    """Of a process and of one that it starts."""
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def test_a_block_gives_it_to_all_processes_below_and_takes_it_back(tmp_path: Path) -> None:
    script = tmp_path / "probe.py"
    script.write_text(PROBE)
    assert policies(script) == [os.SCHED_OTHER, os.SCHED_OTHER]
    with pytest.raises(KeyError, match="within"), batch_policy():
        assert policies(script) == [os.SCHED_BATCH, os.SCHED_BATCH]
        raise KeyError("within")
    assert policies(script) == [os.SCHED_OTHER, os.SCHED_OTHER]


def test_a_policy_that_somebody_chose_is_left() -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        with batch_policy():
            assert os.sched_getscheduler(0) == os.SCHED_IDLE
        assert os.sched_getscheduler(0) == os.SCHED_IDLE
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def test_a_system_that_refuses_it_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("sched_setscheduler")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with batch_policy():
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
