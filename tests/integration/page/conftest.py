"""One endpoint in one process and one browser for the tests of the page, over the starter corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.endpoint import Running, serving
from helpers.page import QUIET, START_MS, WAIT_MS

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot


@pytest.fixture(scope="package")
def starter_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index folder of the starter corpus."""
    folder = tmp_path_factory.mktemp("starter")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return folder / "index"


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Any]:
    """A Chromium without a window."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: the page is not tested"
    )
    sync_api.expect.set_options(timeout=WAIT_MS)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET, timeout=START_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def endpoint(starter_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """`cocite serve --on process`."""
    log = tmp_path_factory.mktemp("endpoint") / "log.txt"
    patient = ("--set", "request_timeout_s=300", "--set", "limits.draft_s=200")
    with serving(None, starter_index, log, "--on", "process", *patient) as running:
        yield running


@pytest.fixture
def complaints() -> list[str]:
    """What the browser logged as an error, or fetched from elsewhere: the page's test fails where something is left."""
    return []


@pytest.fixture
def visit(browser: Any, endpoint: Running, complaints: list[str]) -> Iterator[Callable[..., Any]]:
    """Opens a fresh page, by default of the endpoint, in a browser's context of some options of Playwright.

    Nothing may be logged as an error on it, and nothing fetched from elsewhere.
    """
    sync_api = pytest.importorskip("playwright.sync_api")
    contexts = []

    def opened(url: str = endpoint.url, **options: Any) -> Any:
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, **options},
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        page.on(
            "request", lambda request: complaints.append(request.url) if _foreign(request.url, url) else None
        )
        page.goto(url)
        sync_api.expect(page.locator("#corpus")).to_contain_text("papers")  # the page can be used from now on
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [text for text in complaints if "422" not in text and "401" not in text] == []


@pytest.fixture
def page(visit: Callable[..., Any]) -> Any:
    """A fresh page of the endpoint, as wide as a laptop's screen."""
    return visit()


def _foreign(url: str, own: str) -> bool:
    return not url.startswith((own, "data:", "blob:"))
