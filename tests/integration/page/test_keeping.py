"""What the browser keeps of a draft, and forgets."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.page import (
    BIB,
    DRAFT,
    gap_button,
    give,
    keep,
    kept_with_its_answer,
    search,
    settled,
    titles,
    use,
)

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect


def draft_is_kept(page: Any) -> bool:
    return page.evaluate("localStorage.getItem('cocite-draft') !== null")  # type: ignore[no-any-return]


def test_a_reload_keeps_text_options_choices_and_the_gap_in_focus(page: Any) -> None:
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Papers to show").fill("7")
    page.get_by_label("Year of your manuscript").fill("2015")
    page.get_by_label("Also papers later than that year").check()
    page.get_by_label("Leave out papers by").fill("Ada Lovelace")
    search(page, DRAFT)
    gap_button(page, 2).click()
    expect(page.locator("#summary")).to_contain_text("for gap 2")
    settled(page)
    out = titles(page)[6]
    page.get_by_role("button", name=f"Leave out {out}").click()
    expect(page.get_by_role("button", name=f"Bring back {out}")).to_be_visible()
    settled(page)
    title = use(page, 1)
    before = titles(page)
    page.reload()
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 2")
    expect(page.get_by_label("Your text")).to_have_value(DRAFT)
    expect(gap_button(page, 2)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Papers to show")).to_have_value("7")
    expect(page.get_by_label("Year of your manuscript")).to_have_value("2015")
    expect(page.get_by_label("Also papers later than that year")).to_be_checked()
    expect(page.get_by_label("Leave out papers by")).to_have_value("Ada Lovelace")
    expect(page.get_by_role("button", name=f"Used for gap 2: {title}")).to_be_visible()
    expect(page.get_by_role("button", name=f"Bring back {out}")).to_be_visible()
    assert titles(page) == before


def test_a_reload_keeps_the_order_and_the_filters(page: Any) -> None:
    search(page, DRAFT)
    give(page, "library.bib", BIB)
    filters = {
        "#venue": page.locator("#venue option").nth(1).get_attribute("value"),
        "#sort": "oldest",
        "#owned": "new",
    }
    for name, value in filters.items():
        page.locator(name).select_option(value)
    filters["#author"] = page.locator(".card .who").last.inner_text().partition(",")[0]
    page.get_by_label("Author", exact=True).fill(filters["#author"])
    expect(page.locator("#summary")).to_contain_text(" of 20 papers")
    page.wait_for_timeout(500)  # the field for an author waits until its reader has stopped typing
    before = titles(page)
    assert 0 < len(before) < 20
    for _ in range(2):
        page.reload()
        expect(page.locator("#summary")).to_contain_text(" of 20 papers")
        for name, value in filters.items():
            expect(page.locator(name)).to_have_value(value)
        assert titles(page) == before
    keep(page, '{"options": {"sort": "newest", "owned": "mine", "venue": ""}}')
    for name, value in {"#venue": "", "#sort": "newest", "#owned": ""}.items():
        expect(page.locator(name)).to_have_value(value)


def test_clear_forgets_all_of_it(page: Any) -> None:
    search(page, DRAFT)
    use(page, 0)
    page.locator("#sort").select_option("newest")
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Papers to show").fill("7")
    page.reload()
    settled(page)
    assert draft_is_kept(page)
    page.get_by_role("button", name="Clear", exact=True).click()
    for _ in range(2):
        expect(page.get_by_label("Your text")).to_have_value("")
        expect(page.locator("#top_k")).to_have_value("")
        expect(page.locator("#sort")).to_have_value("rank")
        expect(page.locator("#tray")).to_be_hidden()
        expect(page.locator(".card")).to_have_count(0)
        expect(page.get_by_text("Every suggestion comes with its reasons")).to_be_visible()
        assert not draft_is_kept(page)
        page.reload()


def test_what_one_tab_cleared_does_not_come_back_from_another(page: Any) -> None:
    search(page, DRAFT)
    kept_with_its_answer(page)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.get_by_label("Your text")).to_have_value(DRAFT)
    other.get_by_role("button", name="Clear", exact=True).click()
    assert not draft_is_kept(other)
    page.goto("about:blank")
    assert not draft_is_kept(other)


def test_a_new_visit_asks_nothing_until_it_is_told_to(page: Any) -> None:
    """The text is there again, and is not sent by itself: only a reload over an answer brings its cards back."""
    search(page, DRAFT)
    kept_with_its_answer(page)
    asked: list[str] = []
    visit = page.context.new_page()
    visit.on("request", lambda request: asked.append(f"{request.method} {request.url} {request.post_data}"))
    visit.goto(page.url)
    expect(visit.get_by_label("Your text")).to_have_value(DRAFT)
    expect(visit.locator("#corpus")).to_contain_text("papers")
    assert all(line.startswith("GET ") for line in asked)
    assert not any("Dirichlet" in line for line in asked)


@pytest.mark.parametrize(
    "value",
    [
        "{",
        "[]",
        "null",
        "7",
        '{"text": 7, "focus": -3, "chosen": [1, null], "cited": [5]}',
        '{"filled": [1, {"at": 0, "citation": "[1]", "before": "", "after": "", "papers": [null]}]}',
        '{"options": [1], "chosen": 1, "cited": {}, "excluded": [5, [7], ["a", null]]}',
    ],
)
def test_what_is_damaged_is_not_taken(page: Any, value: str) -> None:
    keep(page, value)
    expect(page.get_by_label("Your text")).to_have_value("")
    search(page, DRAFT)
    expect(page.locator(".card")).to_have_count(20)


def test_the_draft_leaves_the_browser_in_the_request_for_papers_alone(page: Any) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url} {request.post_data} {request.headers}"))
    search(page, DRAFT)
    use(page, 0)
    page.get_by_role("button", name="Copy references").click()
    expect(page.get_by_text("BibTeX copied")).to_be_visible()
    page.reload()
    settled(page)
    with_draft = [line.partition(" ")[0] for line in sent if "Dirichlet" in line]
    assert with_draft
    assert all(url.endswith("/v1/recommend") for url in with_draft)
