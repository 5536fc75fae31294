"""The extension for VS Code in a copy of its folder, where npm builds it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.sources import ROOT

SOURCE = ROOT / "integrations" / "vscode"
_NPM_S = 400
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
"""Node and npm are those of this environment, where it has them."""
_UNREACHABLE = re.compile(
    r"E(4|5)\d\d|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|E(NET|HOST)UNREACH|ETIMEDOUT|ERR_SOCKET|ENOTCACHED|EPROTO"
    r"|CERT|SELF_SIGNED|UNABLE_TO"
)
"""What npm says where it reaches no registry, or one that lacks the packages."""


def npm(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run npm in a folder."""
    return subprocess.run(
        [shutil.which("npm", path=_PATH) or "npm", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_NPM_S,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": _PATH, "NO_COLOR": "1"},
    )


def installed_copy(to: Path) -> Path:
    """A copy of the extension's folder with the packages that it is built with.

    Skips the test where Node or npm is not installed, or the packages cannot be fetched.
    """
    for program in ("node", "npm"):
        if shutil.which(program, path=_PATH) is None:
            pytest.skip(f"{program} is not installed: the extension for VS Code is not built")
    folder = to / "integrations" / "vscode"
    unwanted = shutil.ignore_patterns("node_modules", "dist", "*.vsix")
    shutil.copytree(SOURCE, folder, ignore=unwanted)
    # The extension's build ships the licence of the repository.
    shutil.copy(ROOT / "LICENSE", to / "LICENSE")
    unfetched = "npm cannot fetch the packages of integrations/vscode/package-lock.json"
    try:
        done = npm(folder, "ci", "--prefer-offline", "--fetch-retries=1", "--fetch-timeout=60000")
    except subprocess.TimeoutExpired:
        pytest.skip(unfetched)
    if done.returncode and _UNREACHABLE.search(done.stderr):
        pytest.skip(unfetched)
    assert done.returncode == 0, done.stderr
    return folder


def packaged(folder: Path) -> Path:
    """The .vsix file that is built in a copy."""
    for script in ("build", "package"):
        done = npm(folder, "run", script)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "cocite.vsix"
