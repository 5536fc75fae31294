from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

WAITING = """
import sys, time
from pathlib import Path
from cocite.cli.signals import exit_on_sigterm
if sys.argv[2] == "with":
    exit_on_sigterm()
try:
    print("ready", flush=True)
    time.sleep(60)
finally:
    Path(sys.argv[1]).touch()
"""


@pytest.mark.parametrize(
    ("how", "code", "cleaned"), [("with", 143, True), ("without", -signal.SIGTERM, False)]
)
def test_sigterm_ends_a_command_with_its_code_and_after_its_cleaning(
    tmp_path: Path, how: str, code: int, cleaned: bool
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, str(tmp_path / "cleaned"), how], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == code
    assert (tmp_path / "cleaned").exists() == cleaned
