"""What a draft in LaTeX or Markdown cites: found with its .bib, shown, and not recommended again."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.page import BIB, CITING, drop, give, requests_of, search, settled, titles

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
ATTENTION = "Attention Is All You Need"


def test_a_draft_dropped_with_its_bib_is_not_recommended_what_it_cites(page: Any) -> None:
    drafts, asked = requests_of(page, "/v1/draft/text"), requests_of(page)
    assert drop(page, {"refs.bib": BIB.encode(), "paper.tex": CITING.encode()})
    expect(page.get_by_label("Your text")).to_have_value(CITING)
    [draft] = drafts
    assert "no corpus has" in draft["bib"]
    assert "does not cite" not in draft["bib"], "what the text does not cite stays in the browser"
    expect(page.locator("#library_summary")).to_have_text("My library")
    page.get_by_role("button", name="Find papers").click()
    settled(page)
    assert asked[-1]["exclude"] == ["vaswani2017attention"]
    assert ATTENTION not in titles(page)
    page.get_by_text("My draft cites 2 papers: 1 in this corpus").click()
    expect(page.locator("#cited_list .ticked")).to_have_text("✓ Attention Is All You Need")
    expect(page.locator("#cited_list .missing")).to_have_text(
        "– A paper that no corpus has: not in this corpus"
    )
    together = page.locator("#together_list li")
    expect(together).to_have_count(5)
    expect(together.first.locator(".by")).not_to_be_empty()
    assert page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.ask'))"
    )
    use = together.first.get_by_role("button", name="Use for gap 1")
    use.press("Enter")
    expect(page.get_by_text("1 paper selected")).to_be_visible()
    expect(together.first.get_by_role("button", name="Used for gap 1")).to_be_focused()
    page.wait_for_timeout(500)
    page.reload()
    settled(page)
    expect(together).to_have_count(5)
    page.get_by_text("My draft cites 2 papers: 1 in this corpus").click()
    page.get_by_role("button", name="Suggest what my draft cites too").click()
    expect(page.locator("#cited_box")).to_be_hidden()
    settled(page)
    assert asked[-1]["exclude"] == []


def test_a_pasted_text_is_compared_with_the_library_when_its_author_says_so(page: Any) -> None:
    drafts, asked = requests_of(page, "/v1/draft/text"), requests_of(page)
    text = "Translation by attention alone [@v:17], without recurrence [@?]."
    search(page, text)
    give(page, "library.bib", BIB)
    page.locator("#library_summary").click()
    find = page.get_by_role("button", name="Leave out the paper that my text cites")
    expect(find).to_be_visible()
    assert drafts == []
    find.click()
    expect(page.get_by_text("My draft cites 1 paper: 1 in this corpus")).to_be_visible()
    settled(page)
    expect(page.locator("#cited_summary")).to_be_focused()
    expect(page.locator("#cited_offer")).to_be_hidden()
    [draft] = drafts
    assert draft["files"] == [{"name": "draft.md", "text": text}]
    assert "@inproceedings{v:17" in draft["bib"]
    assert "gone" not in draft["bib"]
    assert asked[-1]["exclude"] == ["vaswani2017attention"]
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator("#cited_box")).to_be_hidden()
    expect(page.locator("#cited_offer")).to_be_hidden()


def test_a_draft_that_cites_nothing_of_its_bib_is_sent_nowhere(page: Any) -> None:
    drafts = requests_of(page, "/v1/draft/text")
    drop(page, {"note.md": b"We parse [@?].", "refs.bib": BIB.encode()})
    expect(page.get_by_label("Your text")).to_have_value("We parse [@?].")
    drop(page, {"paper.tex": b"x \\cite{gone}", "large.bib": b"x" * 2_000_001})
    expect(page.locator("#text-error")).to_contain_text("A bibliography has more than 2 MB.")
    assert drafts == []
