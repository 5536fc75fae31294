"""Ctrl-C while Ray is coming up: one word, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from helpers.endpoint import free_port

from cocite.corpus.builder import build
from cocite.corpus.synth import Synthetic
from cocite.retrieval.index.snapshot import IndexSnapshot

pytestmark = pytest.mark.integration
SCRIPT = (
    "import signal, cocite.cli\nsignal.signal(signal.SIGINT, signal.default_int_handler)\ncocite.cli.main()"
)


def test_an_endpoint_that_is_interrupted_before_it_is_up_leaves_nothing(tmp_path: Path) -> None:
    IndexSnapshot.create(build(Synthetic(60, seed=11), tmp_path / "store"), tmp_path / "index")
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        "serve",
        "--index",
        str(tmp_path / "index"),
        "--port",
        str(free_port()),
    ]
    # Ray's sockets need a short path, which that of a test's own folder is not.
    with tempfile.TemporaryDirectory(prefix="cut-") as temporary, (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            command, stderr=log, stdout=log, start_new_session=True, env={**os.environ, "TMPDIR": temporary}
        )
        deadline = time.monotonic() + 600
        while not list(Path(temporary).glob("cocite-*/session_*/sockets")) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        code = process.wait(600)
        assert code == 130, (tmp_path / "log").read_text()
        assert (tmp_path / "log").read_text().splitlines()[-1] == "cocite: stopped"
        deadline = time.monotonic() + 60
        while left_over(temporary) and time.monotonic() < deadline:  # what was killed is ended in a moment
            time.sleep(0.1)
        assert left_over(temporary) == []


def left_over(folder: str) -> list[str]:
    """Files of Ray in a folder, and command lines of processes that name it."""
    files = [str(path) for path in Path(folder).glob("cocite-*")]
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return files + [line for line in running.splitlines() if folder in line]
