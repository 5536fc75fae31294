"""The page before axe-core: nothing to complain of, in both themes and both widths, empty, full and with all open."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.axe_rules import complaints
from helpers.page import BIB, CITING, DRAFT, calibrate, drop, give, mark, search, settled, use
from helpers.word_files import draft_file

pytestmark = pytest.mark.integration
expect = pytest.importorskip("playwright.sync_api").expect


@pytest.mark.parametrize(
    ("theme", "width"),
    [
        ("light", 1280),
        ("dark", 390),
        pytest.param("light", 390, marks=pytest.mark.thorough),
        pytest.param("dark", 1280, marks=pytest.mark.thorough),
    ],
)
def test_axe_finds_nothing(page: Any, theme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    assert complaints(page) == []
    search(page, DRAFT)
    for box in page.locator("#results details").all():
        box.evaluate("box => { box.open = true; }")
    settled(page)
    assert complaints(page) == []
    calibrate(page)
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator(".chance").first).to_be_visible()
    expect(page.locator("#note")).to_be_visible()
    settled(page)
    assert complaints(page) == [], "of probabilities and a note"
    page.get_by_role("button", name="Show as a table").click()
    assert complaints(page) == []
    finished_file(page)
    assert complaints(page) == [], "of a file that can be finished"
    everything_open(page, width)
    assert complaints(page) == []
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert complaints(page) == [], "of the dialog"
    page.get_by_role("button", name="Close").click()
    notices(page)


def finished_file(page: Any) -> None:
    """Open a .docx, and be told that no paper is chosen for it."""
    drop(page, {"paper.docx": draft_file(DRAFT)})
    page.get_by_role("button", name="Download finished .docx").click()
    expect(page.locator("#word_error")).to_be_visible()


def everything_open(page: Any, width: int) -> None:
    """Open what a draft with citations, a library, marks and selected papers show, and an error beside a field."""
    drop(page, {"refs.bib": BIB.encode(), "paper.tex": CITING.encode()})
    expect(page.locator("#cited_box")).to_be_visible()
    search(page, CITING)
    mark(page, "More like this", 2)
    mark(page, "Not this", 2)
    page.get_by_role("button", name="Leave out ").nth(1).click()
    settled(page)
    use(page, 0)
    give(page, "library.bib", BIB + "@misc{recurrence, title = {A word of the text may be a key}}")
    give(page, "library.txt", "On trees")
    if width < 500:
        page.get_by_role("button", name="References", exact=True).click()
    page.locator(".card .open").first.click()
    for box in page.locator("details:visible").all():
        box.evaluate("box => { box.open = true; }")
    expect(page.locator("#library_error")).to_be_visible()
    expect(page.locator("#cited_offer")).to_be_visible()
    expect(page.locator("#tray")).to_be_visible()
    page.get_by_label("Papers to show").fill("5000")
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator(".field-error")).to_be_visible()
    page.get_by_label("Papers to show").fill("")


def notices(page: Any) -> None:
    """Look at what stands in place of cards, or above them, one after the other."""
    search(page, "qwzzx blorf [CIT] znork.")
    expect(page.locator("#warning")).to_be_visible()
    page.evaluate("location.hash = 'text=Another'")
    expect(page.locator("#linked")).to_be_visible()
    assert complaints(page) == [], "of the warning and the link's text"
    problem = {"error": "Give a key.", "field": None}
    page.route("**/v1/recommend", lambda route: route.fulfill(status=401, json=problem))
    page.get_by_role("button", name="Find papers").click()
    expect(page.get_by_role("button", name="Use this key")).to_be_visible()
    assert complaints(page) == [], "of the field for a key"
