"""Takes the pictures of the web page from a running endpoint: ``page.png``, ``page-dark.png``, ``page-phone.png``,
``page-phone-dark.png``, ``page-phone-card.png`` and ``page-links.png``.

    make demo
    python docs/images/page.py [ADDRESS]

It needs Playwright and a Chromium, as the tests of the page do. The address is that of ``make demo`` without one.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parent
ADDRESS = "http://127.0.0.1:8000"
DRAFT = (
    "\\section{Related work}\n"
    "Topic models describe documents as mixtures of topics \\cite{?}. Word vectors are learned by skip-gram from raw "
    "text [CIT]. A translation model can do without recurrence and read a sentence with attention alone \\cite{}. We "
    "score translations with BLEU (citation needed), as is usual \\cite{post2018call}."
)
GAP = 2
"""The gap in focus, from 1."""
PICTURES = {
    "page.png": ("light", 1280, 860),
    "page-dark.png": ("dark", 1280, 860),
    "page-phone.png": ("light", 390, 844),
    "page-phone-dark.png": ("dark", 390, 844),
}
CARD = "page-phone-card.png"
"""The picture of the first card on a phone, taken beside ``page-phone.png``."""
LINKS = "page-links.png"
"""The picture of how the papers are linked, taken beside ``page.png``."""


def take(page: Page, address: str, to: Path) -> None:
    """Paste the draft, choose papers for two of its gaps, and take the picture."""
    page.goto(address)
    page.get_by_label("Your text").fill(DRAFT)
    page.get_by_role("button", name="Find papers").click()
    page.locator(".card .use").first.click()
    page.get_by_role("group", name="Gaps in the text").get_by_role("button").nth(GAP - 1).click()
    page.locator("#summary").filter(has_text=f"for gap {GAP} of").wait_for()
    page.locator(".card .use").first.click()
    page.evaluate("scrollTo(0, 0)")
    page.mouse.move(0, 0)
    page.screenshot(path=to)


def take_links(page: Page, to: Path) -> None:
    """Open the box of links over the answer that the page shows, and take its picture."""
    page.get_by_role("button", name="Unselect all").click()  # the bar of selected papers would lie over it
    page.get_by_text("How these papers are linked").click()
    page.locator("#graph_picture .node").first.wait_for()
    page.locator("#graph_box").screenshot(path=to)


def take_card(page: Page, to: Path) -> None:
    """Take the picture of a phone's screen that begins with the first card."""
    page.get_by_role("button", name="References", exact=True).click()
    page.get_by_role("button", name="Unselect all").click()  # the bar of selected papers would lie over it
    page.locator(".card").first.evaluate(
        "card => scrollTo(0, card.getBoundingClientRect().top + scrollY - 12)"
    )
    page.screenshot(path=to)


def main() -> None:
    """Take every picture."""
    address = sys.argv[1] if len(sys.argv) > 1 else ADDRESS
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (theme, width, height) in PICTURES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
            )
            page = context.new_page()
            take(page, address, HERE / name)
            if name == "page.png":
                take_links(page, HERE / LINKS)
            if name == "page-phone.png":
                take_card(page, HERE / CARD)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
