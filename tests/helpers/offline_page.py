"""A page in Chromium without a network, and what it asked for and said."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def offline_page(path: Path, width: int) -> Iterator[Any]:
    """Open a file; refuses a page that asks for anything elsewhere, or that says anything on the console."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: the page is not looked at")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True, viewport={"width": width, "height": 900}).new_page()
        asked: list[str] = []
        said: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.absolute().as_uri())
        yield page
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert said == []


def grounds(page: Any) -> list[str]:
    """The background colours of the body in the light theme and in the dark one."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    return found
