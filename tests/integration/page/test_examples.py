"""The texts that the page offers to try."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.page import settled, titles

from cocite.corpus.starter.drafts import starter_drafts

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect


def test_each_draft_of_the_starter_corpus_is_one_click_from_its_papers(page: Any) -> None:
    for draft in starter_drafts():
        offered = page.get_by_role("group", name="Drafts to try")
        expect(offered.get_by_role("button")).to_have_count(3)
        offered.get_by_role("button", name=draft.path.name).click()
        expect(page.get_by_label("Your text")).to_have_value(draft.path.read_text(encoding="utf-8"))
        count = len(draft.expected)
        expect(page.locator("#summary")).to_contain_text(f"20 papers for gap 1 of {count}")
        settled(page)
        ids = page.locator(".card[data-id]").evaluate_all("cards => cards.map(card => card.dataset.id)")
        assert draft.expected[0] in ids
        page.get_by_role("button", name="Clear", exact=True).click()


def test_an_example_asks_at_once(page: Any) -> None:
    page.get_by_role("button", name="Title and abstract").click()
    expect(page.locator("#reading")).to_have_text("Reads as a title and abstract")
    expect(page.locator(".card[data-id]")).to_have_count(20)
    assert titles(page)


def test_an_endpoint_without_drafts_offers_none(page: Any) -> None:
    page.route("**/v1/examples", lambda route: route.fulfill(body="[]", content_type="application/json"))
    with page.expect_response("**/v1/examples"):
        page.reload()
    expect(page.locator("#corpus")).to_contain_text("papers")
    expect(page.get_by_role("button", name="Title and abstract")).to_be_visible()
    expect(page.locator("#drafts")).to_be_hidden()
