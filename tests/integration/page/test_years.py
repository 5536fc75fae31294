"""The bars of the papers by years."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from helpers.page import DRAFT, search, settled

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
SPREAD = """async (lists) => {
  const { spread } = await import('/static/years.js');
  return lists.map((years) => spread(years).map(({ from, to, count }) => [from, to, count]));
}"""


def test_each_paper_with_a_year_is_in_one_bar(page: Any) -> None:
    one, none, few, many = page.evaluate(
        SPREAD, [[2003, 2003], [None], [2003, 2001, None, 2003], [1900, 2000, 1931, 1999]]
    )
    assert (one, none) == ([[2003, 2003, 2]], [])
    assert few == [[2001, 2001, 1], [2002, 2002, 0], [2003, 2003, 2]]
    assert [bar for bar in many if bar[2]] == [
        [1900, 1903, 1],
        [1928, 1931, 1],
        [1996, 1999, 1],
        [2000, 2000, 1],
    ]
    assert all(before[1] + 1 == after[0] for before, after in pairwise(many))


def counted(told: str) -> int:
    """The papers that a label tells."""
    return sum(map(int, re.findall(r": (\d+) paper", told)))


def test_the_bars_follow_the_papers_that_are_shown_and_are_told_in_words(page: Any) -> None:
    search(page, DRAFT)
    bars = page.get_by_role("img", name="Papers by year.")
    expect(bars).to_be_visible()
    assert counted(bars.get_attribute("aria-label")) == 20
    page.get_by_label("From", exact=True).fill("2015")
    expect(page.locator("#bars_first")).to_have_text(re.compile("20(1[5-9]|2.)"))
    settled(page)
    assert counted(bars.get_attribute("aria-label")) == page.locator(".card[data-id]").count()
    page.get_by_label("Venue", exact=True).select_option(index=1)
    shown = page.locator(".card[data-id]").count()
    assert shown < 20
    assert bars.is_hidden() or counted(bars.get_attribute("aria-label")) == shown


def press(page: Any, first: int, last: int) -> list[tuple[int, int]]:
    """Press the mouse on a bar, from 0, and release it on another; returns the years of both."""
    bars = [page.locator("#bars span").nth(at) for at in (first, last)]
    # The release draws other bars at once, so the years of both are read before.
    told = [re.findall(r"(?<!\d)\d{4}(?!\d)", bar.get_attribute("title").partition(":")[0]) for bar in bars]
    spans = [(int(years[0]), int(years[-1])) for years in told]
    for bar, act in zip(bars, (page.mouse.down, page.mouse.up), strict=True):
        box = bar.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        act()
    return spans


def test_a_bar_chooses_its_years_and_a_drag_those_of_several(page: Any) -> None:
    search(page, DRAFT)
    last = page.locator("#bars span").count() - 1
    (low, _), (_, high) = reversed(press(page, last, last - 4))
    expect(page.get_by_label("From", exact=True)).to_have_value(str(low))
    expect(page.get_by_label("to", exact=True)).to_have_value(str(high))
    expect(page.get_by_role("button", name="All years")).to_be_visible()
    settled(page)
    years = [
        int(re.findall(r"\b\d{4}\b", text)[0]) for text in page.locator(".card .where").all_inner_texts()
    ]
    assert years
    assert low <= min(years) <= max(years) <= high
    page.get_by_role("button", name="All years").click()
    settled(page)
    expect(page.locator("#bars_first")).not_to_have_text(str(low))
    ((low, high), _) = press(page, 0, 0)
    expect(page.get_by_label("From", exact=True)).to_have_value(str(low))
    expect(page.get_by_label("to", exact=True)).to_have_value(str(high))


def test_papers_of_one_year_have_no_bars(page: Any) -> None:
    search(page, DRAFT)
    page.get_by_label("From", exact=True).fill("2017")
    page.get_by_label("to", exact=True).fill("2017")
    expect(page.locator("#histogram")).to_be_hidden()
    settled(page)
    expect(page.locator(".card[data-id]").first).to_be_visible()
