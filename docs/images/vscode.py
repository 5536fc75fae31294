"""Takes the picture of the extension for VS Code, ``vscode.png``, from code-server over the starter corpus.

    make vscode-test
    python docs/images/vscode.py

It needs Playwright and a Chromium, and builds the extension, as its tests do.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from helpers.code_server import Window, code_server  # noqa: E402
from helpers.page import QUIET, WAIT_MS  # noqa: E402
from helpers.vscode_extension import installed_copy, packaged  # noqa: E402

INSTALLED = ROOT / ".cache" / "code-server"
DRAFT = """\\documentclass{article}
\\title{Attention in translation}
\\begin{document}
\\maketitle

Attention replaced recurrence in translation. The
quality of translations is measured
by BLEU~

\\bibliography{refs}
\\end{document}
"""


def take(address: str, chromium: str) -> None:
    """Ask for the papers of a citation, show the first one's reasons, and take the picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        page = browser.new_page(viewport={"width": 1160, "height": 520}, device_scale_factor=1.5)
        page.set_default_timeout(WAIT_MS)
        window = Window(page)
        window.open(address, "paper.tex")
        window.ready()
        page.keyboard.press("Control+b")  # the list of files
        window.go_to_end_of("BLEU")
        page.keyboard.type("\\cite{")
        window.suggestions.nth(5).wait_for()
        page.keyboard.press("Control+Space")  # the details beside the list
        page.locator(".suggest-details", has_text="Papineni").wait_for()
        page.mouse.move(0, 0)
        page.wait_for_timeout(1_000)
        page.screenshot(path=HERE / "vscode.png")
        browser.close()


def main() -> None:
    """Build index and extension, and take the picture."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or not INSTALLED.exists():
        sys.exit("needs a Chromium on the PATH, and code-server: run `make vscode-test`")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
        draft = folder / "draft"
        (draft / ".vscode").mkdir(parents=True)
        (draft / "paper.tex").write_text(DRAFT)
        (draft / "refs.bib").touch()
        command = Path(sys.executable).with_name("cocite")
        settings = {"cocite.command": str(command), "cocite.index": str(folder / "index")}
        settings |= {"editor.minimap.enabled": False, "window.commandCenter": False}
        (draft / ".vscode" / "settings.json").write_text(json.dumps(settings))
        (folder / "server").mkdir()
        extension = packaged(installed_copy(folder / "extension"))
        with code_server(INSTALLED, extension, folder / "server") as running:
            take(running.of(draft), chromium)


if __name__ == "__main__":
    main()
