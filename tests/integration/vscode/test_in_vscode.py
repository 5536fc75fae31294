"""The extension in VS Code itself: code-server, driven in a browser, with the language server over the starter corpus.

`make vscode-test` installs code-server and runs these; elsewhere COCITE_CODE_SERVER names its folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.code_server import CodeServer, Window, code_server
from helpers.page import QUIET, START_MS, WAIT_MS
from helpers.vscode_extension import installed_copy, packaged

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot

INSTALLED = os.environ.get("COCITE_CODE_SERVER")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not INSTALLED, reason="code-server is not installed: run `make vscode-test`"),
]
SENTENCE = "The quality of translations is measured by BLEU"
TEX = f"\\documentclass{{article}}\n\\begin{{document}}\n\\bibliography{{refs}}\n{SENTENCE}~\n\\end{{document}}\n"
BIB = "@misc{own, title={A paper of our own}, author={Nobody Known}, year=2001}\n"
KEY = "papineni2002bleu"
WAIT_S = WAIT_MS / 1000


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return folder / "index"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    extension = packaged(installed_copy(tmp_path_factory.mktemp("extension")))
    with code_server(Path(INSTALLED or ""), extension, tmp_path_factory.mktemp("code-server")) as running:
        yield running


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    sync_api.expect.set_options(timeout=WAIT_MS)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET, timeout=START_MS)
        yield browser
        browser.close()


@pytest.fixture
def window(browser: Any) -> Iterator[Window]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    yield Window(page)
    context.close()


@pytest.fixture
def draft(tmp_path: Path, index: Path) -> Path:
    """A folder with drafts, a bibliography, and the settings of the extension."""
    folder = tmp_path / "draft"
    (folder / ".vscode").mkdir(parents=True)
    (folder / "paper.tex").write_text(TEX)
    (folder / "notes.md").write_text(f"---\nbibliography: refs.bib\n---\n\n{SENTENCE}\n\n{SENTENCE} [CIT].\n")
    (folder / "refs.bib").write_text(BIB)
    configure(folder, index)
    return folder


def configure(folder: Path, index: Path) -> None:
    settings = {"cocite.command": str(Path(sys.executable).with_name("cocite")), "cocite.index": str(index)}
    (folder / ".vscode" / "settings.json").write_text(json.dumps(settings))


def until(holds: Callable[[], object]) -> None:
    """Wait for something that is in no page."""
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_citation_is_completed_and_its_entry_is_on_the_disk(
    server: CodeServer, window: Window, draft: Path
) -> None:
    window.open(server.of(draft), "paper.tex")
    window.ready()
    window.go_to_end_of("BLEU")
    window.page.keyboard.type("\\cite{")
    window.suggestions.nth(5).wait_for()
    window.page.keyboard.type("pap")
    window.accept(KEY)
    # The extension saves the bibliography; the draft is the author's to save.
    until(lambda: KEY in (draft / "refs.bib").read_text())
    assert (draft / "refs.bib").read_text().startswith(BIB)
    assert (draft / "refs.bib").read_text().count(f"{{{KEY},") == 1
    assert (draft / "paper.tex").read_text() == TEX
    window.save()
    until(lambda: (draft / "paper.tex").read_text() == TEX.replace("BLEU~", f"BLEU~\\cite{{{KEY}}}"))


def test_a_bibliography_with_unsaved_changes_is_left_unsaved(
    server: CodeServer, window: Window, draft: Path
) -> None:
    window.open(server.of(draft), "refs.bib")
    window.page.locator(".view-line", has_text="Nobody").click()
    window.page.keyboard.press("Home")
    window.page.keyboard.type("% mine ")
    window.open_file("paper.tex")
    window.ready()
    window.go_to_end_of("BLEU")
    window.page.keyboard.type("\\cite{")
    window.accept(KEY)
    window.page.get_by_role("tab", name="refs.bib").click()
    window.page.locator(".view-line", has_text=KEY).wait_for()
    assert (draft / "refs.bib").read_text() == BIB
    window.save()
    until(lambda: KEY in (draft / "refs.bib").read_text())
    assert (draft / "refs.bib").read_text().startswith(f"% mine {BIB}")


def test_the_command_writes_a_citation_or_fills_the_gap_at_the_caret(
    server: CodeServer, window: Window, draft: Path
) -> None:
    window.open(server.of(draft), "notes.md")
    window.ready()
    window.go_to_end_of("BLEU")
    window.run("cocite: Suggest citations here")
    window.accept(KEY)
    window.page.locator(".view-line", has_text="CIT").click()
    window.page.keyboard.press("End")
    for _ in range(3):
        window.page.keyboard.press("ArrowLeft")
    window.run("cocite: Suggest citations here")
    window.accept(KEY)
    window.save()
    written = f"{SENTENCE} [@{KEY}]"
    until(lambda: (draft / "notes.md").read_text().endswith(f"\n{written}\n\n{written}.\n"))


def test_an_index_that_is_missing_is_told_in_a_sentence_and_another_one_is_loaded(
    server: CodeServer, window: Window, draft: Path, index: Path
) -> None:
    from playwright.sync_api import expect

    missing = draft / "none"
    configure(draft, missing)
    window.open(server.of(draft), "paper.tex")
    message = window.page.locator(".notification-toast", has_text="holds no index")
    message.wait_for()
    assert f"cocite: {missing}: holds no index" in message.inner_text()
    assert "holds no index" in (window.status.get_attribute("aria-label") or "")
    message.get_by_role("button", name="Show log").click()
    window.page.locator(".panel .view-line", has_text="holds no index").first.wait_for()
    expect(window.page.locator(".notification-toast")).to_have_count(0)  # one message is enough
    configure(draft, index)
    window.ready()


def test_a_server_that_ends_is_started_again_and_restart_starts_another(
    server: CodeServer, window: Window, draft: Path
) -> None:
    window.open(server.of(draft), "paper.tex")
    window.ready()
    [first] = server.language_servers(draft)
    first.kill()
    until(lambda: [p for p in server.language_servers(draft) if p.pid != first.pid])
    window.ready()
    [second] = server.language_servers(draft)
    # The second command gives up the server that the first one started, which still loads.
    window.run("cocite: Restart")
    window.run("cocite: Restart")
    until(lambda: [p for p in server.language_servers(draft) if p.pid not in (first.pid, second.pid)])
    window.ready()
    until(lambda: len(server.language_servers(draft)) == 1)
    window.go_to_end_of("BLEU")
    window.page.keyboard.type("\\cite{")
    window.accept(KEY)


def test_without_an_index_the_status_bar_asks_for_one(
    server: CodeServer, window: Window, draft: Path
) -> None:
    (draft / ".vscode" / "settings.json").unlink()
    window.open(server.of(draft), "paper.tex")
    window.page.locator('[id="cocite.cocite.cocite"][aria-label*="Set cocite.index"]').wait_for()
    window.status.click()
    window.page.locator(".settings-editor", has_text="The index folder").wait_for()
