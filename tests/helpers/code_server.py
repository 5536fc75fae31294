"""VS Code for tests: code-server with the extension installed, and what tests do in its page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psutil

from helpers.endpoint import free_port

START_S = 600
STOP_S = 120
SETTINGS = {
    "files.autoSave": "off",
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoCheckUpdates": False,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}
"""Of the user: nothing is saved by itself, and nothing is asked of the network."""


@dataclass
class CodeServer:
    """VS Code behind an address."""

    url: str
    process: subprocess.Popen[bytes]

    def of(self, folder: Path) -> str:
        """The address of a folder."""
        return f"{self.url}/?folder={quote(str(folder))}"

    def language_servers(self, folder: Path) -> list[psutil.Process]:
        """The servers of the extension for the window of a folder; those of closed windows live on for a while."""
        found = []
        for process in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if "language-server" in process.cmdline() and Path(process.cwd()) == folder:
                    found.append(process)
            except psutil.Error:
                continue
        return found


@contextmanager
def code_server(installed: Path, extension: Path, work: Path) -> Iterator[CodeServer]:
    """Run code-server with an extension until the block ends.

    Args:
        installed: the folder into which ``integrations/vscode/install-code-server.sh`` installed it.
        extension: the .vsix file.
        work: an empty folder for what it writes.
    """
    data = work / "data"
    (data / "User").mkdir(parents=True)
    (data / "User" / "settings.json").write_text(json.dumps(SETTINGS))
    (work / "config.yaml").write_text("auth: none\n")
    (work / "home").mkdir()
    port = free_port()
    command = ["node", str((installed / "node_modules" / "code-server").resolve())]
    command += ["--config", str(work / "config.yaml"), "--user-data-dir", str(data)]
    command += ["--extensions-dir", str(work / "extensions")]
    environment = {**os.environ, "HOME": str(work / "home")}
    subprocess.run(
        [*command, "--install-extension", str(extension)],
        check=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=START_S,
    )
    options = ["--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    log = work / "log.txt"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, *options, "--disable-workspace-trust"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    running = CodeServer(f"http://127.0.0.1:{port}", process)
    try:
        _wait(running, log)
        yield running
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        for left in psutil.wait_procs([psutil.Process(process.pid), *children], STOP_S)[1]:
            left.kill()
        process.wait()


def _wait(running: CodeServer, log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and running.process.poll() is None:
        try:
            if httpx.get(f"{running.url}/healthz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"code-server does not answer:\n{log.read_text()}")


class Window:
    """A window of VS Code, in a page of a browser.

    Args:
        page: of Playwright.
    """

    def __init__(self, page: Any) -> None:
        self.page = page
        self.status = page.locator('[id="cocite.cocite.cocite"]')
        self.suggestions = page.locator(".suggest-widget.visible .monaco-list-row")

    def open(self, address: str, name: str) -> None:
        """Open a folder, and a file of it, which has the caret."""
        self.page.goto(address)
        self.open_file(name)

    def open_file(self, name: str) -> None:
        """Open another file of the folder."""
        self.page.get_by_role("treeitem", name=name).dblclick()
        self.page.get_by_role("tab", name=name).wait_for()

    def ready(self) -> None:
        """Wait until the item in the status bar says that citations are completed."""
        self.page.locator('[id="cocite.cocite.cocite"][aria-label*="completes citations"]').wait_for()

    def go_to_end_of(self, text: str) -> None:
        """Put the caret at the end of the line that has a text."""
        self.page.locator(".view-line", has_text=text).first.click()
        self.page.keyboard.press("End")

    def run(self, command: str) -> None:
        """Run a command of the command palette."""
        self.page.keyboard.press("F1")
        self.page.keyboard.type(command)
        self.page.locator(".quick-input-list .monaco-list-row", has_text=command).first.wait_for()
        self.page.keyboard.press("Enter")

    def accept(self, key: str) -> None:
        """Accept the first suggestion, which has to be of this key."""
        from playwright.sync_api import expect  # installed where there is a page

        # The list is drawn anew while answers come in.
        expect(self.suggestions.first).to_have_text(re.compile(f"^{re.escape(key)}"), use_inner_text=True)
        self.page.keyboard.press("Enter")

    def save(self) -> None:
        """Save the file that has the caret."""
        self.page.keyboard.press("Control+s")
