"""The page with a keyboard, a screen reader, a phone, on paper, and in both themes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from helpers.page import (
    DRAFT,
    FAINT_TEXTS,
    NAMELESS,
    PASSAGE,
    SMALL_TARGETS,
    calibrate,
    drop,
    gap_button,
    search,
    settled,
    titles,
    use,
)
from helpers.word_files import draft_file

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
ERROR = "x " * 60_000
FITS = "document.documentElement.scrollWidth <= innerWidth"


def test_the_keyboard_is_enough(page: Any) -> None:
    text = page.get_by_label("Your text")
    text.focus()
    page.keyboard.insert_text("We score translations with BLEU")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(text).to_have_value("We score translations with BLEU [CIT]")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".card[data-id]").first).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Find papers").focus()
    page.keyboard.press("j")
    expect(page.locator(".card").first).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(".card").first).to_be_focused()
    page.keyboard.press("d")
    expect(page.locator(".card .abstract").first).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("1 paper selected")).to_be_visible()
    page.keyboard.press("i")
    expect(page.get_by_text("1 paper selected, 1 in the text")).to_be_visible()
    expect(page.locator(".card").first).to_be_focused()
    assert "\\cite{" in text.input_value()


def test_the_focus_outlives_what_it_was_on(page: Any) -> None:
    search(page, DRAFT)
    gap_button(page, 2).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 2")
    settled(page)
    expect(gap_button(page, 2)).to_be_focused()
    before = titles(page)
    for _ in range(3):
        page.keyboard.press("j")
    expect(page.locator(".card").nth(2)).to_be_focused()
    page.get_by_role("button", name=f"Leave out {before[2]}").press("Enter")
    expect(page.locator(".card h3").nth(2)).to_have_text(before[3])
    expect(page.locator(".card").nth(2)).to_be_focused()
    page.keyboard.press("p")
    expect(page.locator("#summary")).to_contain_text("for gap 1 of 2")
    settled(page)
    expect(page.locator(".card").first).to_be_focused()


def test_an_error_beside_a_field_stays_in_view_on_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    search(page, DRAFT)
    expect(page.locator(".card").first).to_be_in_viewport()
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Papers to show").fill("500")
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator(".field-error")).to_be_visible()
    settled(page)
    expect(page.get_by_label("Papers to show")).to_be_in_viewport()


def test_keys_move_between_gaps_also_within_the_text(page: Any) -> None:
    search(page, DRAFT)
    summary = page.locator("#summary")
    for key, number in (("n", 2), ("p", 1), ("Alt+ArrowDown", 2), ("Alt+ArrowUp", 1)):
        page.keyboard.press(key)
        expect(summary).to_contain_text(f"for gap {number} of 2")
    page.keyboard.press("/")
    text = page.get_by_label("Your text")
    expect(text).to_be_focused()
    page.keyboard.press("Alt+ArrowDown")
    expect(summary).to_contain_text("for gap 2 of 2")
    expect(text).to_be_focused()
    page.keyboard.type("nj?")
    assert "nj?" in text.input_value(), "within the text a letter is a letter"


def test_the_list_of_keys_opens_and_turns_single_keys_off(page: Any) -> None:
    search(page, DRAFT)
    help = page.get_by_role("dialog", name="Keyboard shortcuts")
    page.keyboard.press("?")
    expect(help).to_be_visible()
    assert page.locator("#shortcuts dt").count() == page.locator("#shortcuts dd").count() >= 12
    help.get_by_label("Single keys work outside of text fields").uncheck()
    page.keyboard.press("Escape")
    expect(help).to_be_hidden()
    page.keyboard.press("?")
    page.keyboard.press("n")
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 2")
    expect(help).to_be_hidden()
    page.reload()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(help.get_by_label("Single keys work outside of text fields")).not_to_be_checked()
    help.get_by_role("button", name="Close").click()
    expect(help).to_be_hidden()


def test_everything_has_a_name_and_results_are_announced(page: Any) -> None:
    search(page, DRAFT)
    use(page, 0)
    page.get_by_text("Options", exact=True).click()
    assert page.evaluate(NAMELESS) == []
    for role in ("banner", "main", "navigation"):
        expect(page.get_by_role(role)).to_have_count(1)
    for name in ("Results", "Selected papers", "What should you cite here?"):
        expect(page.get_by_role("region", name=name)).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="20 papers for gap 1 of 2")).to_be_visible()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].filter((node) => node.checkVisibility())"
        ".map((node) => Number(node.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in pairwise(levels)), "no level of headings is left out"
    expect(page.locator("h1")).to_have_count(1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_has_the_contrast_that_wcag_asks_for(page: Any, theme: str) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    assert page.evaluate(FAINT_TEXTS) == []
    search(page, "qwzzx blorf [CIT] znork.")
    assert page.evaluate(FAINT_TEXTS) == []
    calibrate(page)
    search(page, DRAFT)
    expect(page.locator(".chance").first).to_be_visible()
    expect(page.locator("#note")).to_be_visible()
    page.get_by_text("How these papers are linked").click()
    expect(page.locator("#graph_picture .number").first).to_be_visible()
    use(page, 0)
    page.locator(".card .open").first.click()
    page.get_by_role("button", name=f"Leave out {titles(page)[1]}").click()
    expect(page.locator("#left_out")).to_be_visible()
    settled(page)
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Papers to show").fill("500")
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator(".field-error")).to_be_visible()
    settled(page)
    page.evaluate("Promise.all(document.getAnimations().map((animation) => animation.finished))")
    assert page.evaluate(FAINT_TEXTS) == []
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert page.evaluate(FAINT_TEXTS) == []
    page.evaluate("document.querySelector('.kept').style.color = '#777'")
    assert [text.partition(":")[0] for text in page.evaluate(FAINT_TEXTS)] == [
        "P .kept The text and your choices stay"
    ]


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_overflows_a_narrow_screen(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate(FITS)
    search(page, DRAFT + " Unbroken" + "x" * 300)
    use(page, 0)
    page.locator(".card .open").first.click()
    page.get_by_text("Options", exact=True).click()
    assert page.evaluate(FITS)


def all_targets(page: Any) -> None:
    """Measure the controls of the empty page, of one with an answer and all open, and of the dialog."""
    assert page.evaluate(SMALL_TARGETS) == []
    drop(page, {"paper.docx": draft_file(DRAFT)})
    expect(page.get_by_role("button", name="Download finished .docx")).to_be_visible()
    search(page, page.get_by_label("Your text").input_value())
    use(page, 0)
    page.get_by_text("Options", exact=True).click()
    more = page.get_by_role("button", name="References", exact=True)
    if more.is_visible():
        more.click()
    expect(page.get_by_role("button", name="Download", exact=True)).to_be_visible()
    page.locator(".card .open").first.click()
    assert page.evaluate(SMALL_TARGETS) == []
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert page.evaluate(SMALL_TARGETS) == []


def test_targets_on_a_phone_are_large_enough(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    all_targets(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_targets_are_as_large_on_a_phone_on_its_side(visit: Callable[..., Any], theme: str) -> None:
    """It is wider than the narrow screens, and no less touched by fingers."""
    side = {"width": 844, "height": 390}
    page = visit(viewport=side, has_touch=True, is_mobile=True, color_scheme=theme)
    all_targets(page)
    assert page.evaluate(FITS)


def test_a_wide_screen_has_the_draft_beside_its_cards(page: Any) -> None:
    search(page, PASSAGE)
    draft, results = (page.locator(name).bounding_box() for name in (".ask", "#results"))
    assert draft["x"] + draft["width"] <= results["x"]
    assert abs(draft["y"] - results["y"]) < 40


def test_paper_has_the_draft_and_the_cards_and_no_controls(page: Any) -> None:
    page.emulate_media(color_scheme="dark")
    search(page, DRAFT)
    use(page, 0)
    page.emulate_media(media="print")
    for shown in ("#text", ".card h3", "#quote"):
        expect(page.locator(shown).first).to_be_visible()
    for hidden in ("#submit", "#tray", ".card .actions", ".filters", ".top nav", "#gaps", "#put"):
        expect(page.locator(hidden).first).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_light_and_dark(page: Any) -> None:
    def background() -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")  # type: ignore[no-any-return]

    before = background()
    page.get_by_role("button", name="Switch between light and dark").click()
    after = background()
    assert after != before
    page.reload()
    assert background() == after, "the choice is kept"


def test_a_refused_draft_is_announced_and_the_page_stays_as_it_was(page: Any) -> None:
    search(page, ERROR)
    expect(page.get_by_text("Every suggestion comes with its reasons")).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="At most 100,000 characters")).to_be_visible()
    expect(page.get_by_label("Your text")).to_be_focused()
