"""Papers whose like is wanted, or not wanted: they steer the list of a gap, are kept, and travel in a link."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.endpoint import Running
from helpers.page import (
    DRAFT,
    FAINT_TEXTS,
    SMALL_TARGETS,
    clipboard,
    go_to_gap,
    id_of,
    keep,
    kept_with_its_answer,
    mark,
    requests_of,
    search,
    settled,
    titles,
    use,
)

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect


def test_marks_steer_the_list_of_their_gap_at_once_and_can_be_removed(page: Any) -> None:
    sent = requests_of(page)
    search(page, DRAFT)
    first = titles(page)
    go_to_gap(page, 2)
    before = titles(page)
    liked, title = mark(page, "More like this", 3)
    disliked, other = mark(page, "Not this", 0)
    assert (sent[-1]["like"], sent[-1]["dislike"]) == ([liked], [disliked])
    expect(page.get_by_role("group", name="Steering the list of gap 2")).to_be_visible()
    expect(page.get_by_text("Linked with papers whose like you want").first).to_be_visible()
    assert titles(page) != [one for one in before if one not in (title, other)]
    go_to_gap(page, 1)
    expect(page.locator("#marks")).to_be_hidden()
    assert titles(page) == first, "the other gap has its own list"
    go_to_gap(page, 2)
    page.get_by_role("button", name=f"No more like {title}").click()
    expect(page.get_by_role("button", name=f"Allow papers like {other}")).to_be_focused()
    settled(page)
    assert "like" not in sent[-1]
    page.get_by_role("button", name=f"Allow papers like {other}").press("Enter")
    expect(page.locator("#marks")).to_be_hidden()
    expect(page.locator(".card h3").first).to_have_text(before[0])
    settled(page)
    assert titles(page) == before


def test_a_paper_changes_sides_and_is_used_no_more_where_it_is_not_wanted(page: Any) -> None:
    search(page, DRAFT)
    used = use(page, 0)
    mark(page, "Not this", 0)
    expect(page.locator("#tray")).to_be_hidden()
    page.get_by_role("button", name=f"Allow papers like {used}").click()
    expect(page.locator(".card h3").first).to_have_text(used)
    settled(page)
    use(page, 0)
    mark(page, "More like this", 0)
    expect(page.get_by_text("1 paper selected")).to_be_visible()


def test_keys_mark_the_paper_in_focus(page: Any) -> None:
    search(page, DRAFT)
    before = titles(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("m")
    expect(page.get_by_role("button", name=f"No more like {before[1]}")).to_be_visible()
    settled(page)
    expect(page.locator(".card").nth(1)).to_be_focused()
    after = titles(page)
    page.keyboard.press("x")
    expect(page.get_by_role("button", name=f"Allow papers like {after[1]}")).to_be_visible()


def test_marks_are_kept_over_a_reload_and_forgotten_by_clear(page: Any) -> None:
    search(page, DRAFT)
    go_to_gap(page, 2)
    _, liked = mark(page, "More like this", 1)
    _, disliked = mark(page, "Not this", 1)
    before = titles(page)
    page.reload()
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 2")
    settled(page)
    for name in (f"No more like {liked}", f"Allow papers like {disliked}"):
        expect(page.get_by_role("button", name=name)).to_be_visible()
    assert titles(page) == before
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator("#marks")).to_be_hidden()
    page.reload()
    expect(page.locator("#marks")).to_be_hidden()


def test_a_gap_that_is_gone_steers_nothing(page: Any) -> None:
    sent = requests_of(page)
    search(page, DRAFT)
    mark(page, "More like this", 0)
    page.get_by_label("Your text").fill(DRAFT.partition(". ")[2])
    expect(page.locator("#marks")).to_be_hidden()
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator("#summary")).not_to_contain_text("for gap")
    settled(page)
    assert "like" not in sent[-1]


def test_marks_of_a_text_without_gaps_are_of_every_list(page: Any) -> None:
    sent = requests_of(page)
    search(page, "Neural machine translation\n\nWe translate with recurrent networks.")
    id_, title = mark(page, "More like this", 0)
    expect(page.get_by_role("group", name="Steering the list", exact=True)).to_be_visible()
    search(page, DRAFT)
    assert sent[-1]["like"] == [id_]
    go_to_gap(page, 2)
    assert sent[-1]["like"] == [id_]
    expect(page.get_by_role("button", name=f"No more like {title}")).to_be_visible()


def test_a_link_has_the_ids_alone_and_brings_the_list_back(page: Any, endpoint: Running) -> None:
    search(page, DRAFT)
    (liked, title), (disliked, other) = mark(page, "More like this", 2), mark(page, "Not this", 3)
    page.get_by_role("button", name="Copy a link to these").click()
    expect(page.get_by_text("Link copied")).to_be_visible()
    link = clipboard(page)
    assert link == f"{endpoint.url}/#like={liked}&dislike={disliked}"
    page.get_by_role("button", name="Clear", exact=True).click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    sent = requests_of(page)
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#summary")).to_contain_text("20 papers near those whose like you want")
    settled(page)
    assert (sent[-1]["like"], sent[-1]["dislike"]) == ([liked], [disliked])
    assert "text" not in sent[-1]
    for name in (f"No more like {title}", f"Allow papers like {other}"):
        expect(page.get_by_role("button", name=name)).to_be_visible()
    assert page.url == f"{endpoint.url}/", "what is taken away must not come back by a reload"
    before = titles(page)
    page.reload()
    expect(page.locator("#summary")).to_contain_text("near those whose like you want")
    settled(page)
    assert titles(page) == before


def test_a_link_sends_no_text_that_the_browser_has_kept(page: Any, endpoint: Running) -> None:
    search(page, DRAFT)
    id_ = id_of(page, 0)
    kept_with_its_answer(page)
    other = page.context.new_page()
    sent = requests_of(other)
    other.goto(f"{endpoint.url}/#like={id_}")
    expect(other.locator("#marks .chip")).to_have_count(1)
    expect(other.get_by_label("Your text")).to_have_value(DRAFT)
    expect(other.locator("#corpus")).to_contain_text("papers")
    assert sent == []


@pytest.mark.parametrize(
    ("ids", "chips"),
    [
        ("like=no%20such%20paper", 0),
        ("like=vaswani2017attention&like=<b>&like=vaswani2017attention&dislike=vaswani2017attention", 1),
        ("like=&dislike=", 0),
        ("results", 0),
    ],
)
def test_a_strange_link_does_no_harm(page: Any, endpoint: Running, ids: str, chips: int) -> None:
    page.goto("about:blank")
    page.goto(f"{endpoint.url}/#{ids}")
    expect(page.locator("#corpus")).to_contain_text("papers")
    expect(page.locator("#marks .chip")).to_have_count(chips)
    if "such" in ids:
        expect(page.get_by_text("Not in this corpus: no such paper")).to_be_visible()
    if chips:
        expect(page.locator(".card[data-id]")).to_have_count(20)


def test_what_is_kept_of_marks_is_checked(page: Any) -> None:
    kept = {"text": DRAFT, "marks": [7, None, {"id": 5}, {"id": "a", "title": "A", "likes": 1, "gap": 9}]}
    keep(page, json.dumps(kept))
    search(page, DRAFT)
    expect(page.locator(".card")).to_have_count(20)
    expect(page.locator("#marks")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_chips_can_be_read_and_pressed(page: Any, theme: str) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    search(page, DRAFT)
    mark(page, "More like this", 0)
    mark(page, "Not this", 0)
    assert page.evaluate(FAINT_TEXTS) == []
    assert page.evaluate(SMALL_TARGETS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
