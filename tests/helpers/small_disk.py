"""A disk that is too small, or may not be written: a mount that one process sees, for tests of what it is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def run_on_disk(folder: Path, script: str, *arguments: object, options: str = "size=1m") -> str:
    """Run Python code where a folder is a file system mounted so, gone when the code ends; returns its output.

    The test is skipped where mounting is not allowed.
    """
    mount = [
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"',
        "sh",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        allowed = subprocess.run([*mount, options, str(folder), "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare to mount a small disk with")
    if allowed.returncode:
        pytest.skip(f"a small disk cannot be mounted: {allowed.stderr.decode().strip()}")
    command = [*mount, options, str(folder), sys.executable, "-c", script, str(folder), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert not done.returncode, done.stderr
    return done.stdout


def run_without_rights(script: str, *arguments: object) -> str:
    """Run Python code in a process that keeps to the rights of files, as root does not; returns its output."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        prefix = ["setpriv", "--bounding-set=-dac_override"]
        if shutil.which("setpriv") is None:
            pytest.skip("there is no setpriv to take root's rights away with")
    command = [*prefix, sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert not done.returncode, done.stderr
    return done.stdout
