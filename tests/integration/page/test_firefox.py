"""The page in Firefox, where one is installed: from a pasted draft to a key in the text, over a reload."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from helpers.endpoint import Running, free_port
from helpers.page import DRAFT, START_MS, WAIT_MS

FIREFOX = shutil.which("firefox") or shutil.which("firefox-esr")
pytestmark = [pytest.mark.integration, pytest.mark.skipif(not FIREFOX, reason="Firefox is not installed")]
client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed")


@pytest.fixture
def send(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Sends a command of WebDriver BiDi to a Firefox, and returns its result."""
    port = free_port()
    command = [str(FIREFOX), "--headless", "--no-remote", "--profile", tmp_path, "--remote-debugging-port"]
    process = subprocess.Popen([*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        socket = connected(f"ws://127.0.0.1:{port}/session")

        def sent(method: str, **params: Any) -> Any:
            socket.send(json.dumps({"id": 1, "method": method, "params": params}))
            while (answer := json.loads(socket.recv(WAIT_MS / 1000))).get("id") != 1:
                pass  # an event
            return answer["result"]

        yield sent
    finally:
        process.terminate()
        process.wait(60)


def connected(address: str) -> Any:
    """A connection with a browser that is about to start."""
    until = time.monotonic() + START_MS / 1000
    while time.monotonic() < until:
        with suppress(OSError):
            return client.connect(address, max_size=None)
        time.sleep(0.2)
    raise AssertionError("Firefox does not start")


def test_a_draft_gets_a_key_and_is_kept(send: Callable[..., Any], endpoint: Running) -> None:
    send("session.new", capabilities={})
    context = send("browsingContext.getTree")["contexts"][0]["context"]

    def run(code: str) -> Any:
        options = {"target": {"context": context}, "awaitPromise": True, "userActivation": True}
        return send("script.evaluate", expression=code, **options).get("result")

    def wait(code: str) -> None:
        until = time.monotonic() + WAIT_MS / 1000
        while (run(f"Boolean({code})") or {}).get("value") is not True:
            assert time.monotonic() < until, f"{code}: {run('document.body.innerText')}"
            time.sleep(0.1)

    send("browsingContext.navigate", context=context, url=endpoint.url, wait="complete")
    wait("corpus.textContent.includes('papers')")
    run(f"text.focus(); document.execCommand('insertText', false, {json.dumps(DRAFT)}); submit.click()")
    run("gaps.children[1].click()")
    wait("summary.textContent.includes('for gap 2 of 2')")
    run("document.querySelector('.card .use').click(); put.click()")
    wait(r"text.value.includes('BLEU \\cite{papineni2002bleu}')")
    run("document.execCommand('undo')")
    wait(f"text.value === {json.dumps(DRAFT)} && document.execCommand('redo')")
    wait("localStorage.getItem('cocite-draft')?.includes('cite{papineni2002bleu}')")
    send("browsingContext.reload", context=context, wait="complete")
    wait("text.value.includes('papineni2002bleu') && tray_count.textContent.includes('1 in the text')")
