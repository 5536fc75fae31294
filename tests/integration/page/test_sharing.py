"""A link that holds the author's text, which the author asks for, and which goes to no server."""

from __future__ import annotations

import urllib.parse
from typing import Any

import pytest
from helpers.endpoint import Running
from helpers.page import DRAFT, clipboard, gap_button, go_to_gap, mark, requests_of, search

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
ODD = "Größe & <b>café</b> #1 + 50 % [CIT].\nSecond line \\cite{?}."


def copied_link(page: Any) -> str:
    page.get_by_text("Share my text by a link").click()
    page.get_by_role("button", name="Copy a link with my text").click()
    expect(page.get_by_text("Link copied: it holds your text")).to_be_visible()
    return clipboard(page)


def test_a_link_with_the_text_brings_text_gap_and_marks_back_and_sends_nothing(
    page: Any, endpoint: Running
) -> None:
    expect(page.locator("#share_box")).to_be_hidden()
    search(page, DRAFT)
    go_to_gap(page, 2)
    liked, title = mark(page, "More like this", 1)
    link = copied_link(page)
    expect(page.locator("#share_says")).to_contain_text(f"your whole text ({len(DRAFT)} characters)")
    address, _, fragment = link.partition("#")
    assert address == f"{endpoint.url}/"
    assert urllib.parse.parse_qs(fragment) == {"like": [liked], "text": [DRAFT], "gap": ["2"]}
    page.get_by_role("button", name="Clear", exact=True).click()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url} {request.post_data}"))
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_label("Your text")).to_have_value(DRAFT)
    expect(gap_button(page, 2)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name=f"No more like {title}")).to_be_visible()
    expect(page.locator("#corpus")).to_contain_text("papers")
    assert page.url == f"{endpoint.url}/", "the text does not stay in the address"
    assert not any("Dirichlet" in line or "recommend" in line for line in sent)
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 2")


def test_odd_signs_travel_and_the_text_of_the_reader_stays_until_told(page: Any) -> None:
    text = page.get_by_label("Your text")
    text.fill(ODD)
    link = copied_link(page)
    text.fill("My own text.")
    page.goto(link)  # only the part behind the # changes: the page stays
    notice = page.locator("#linked")
    expect(notice).to_contain_text("The link that you opened holds a text. Yours is in the field.")
    expect(text).to_have_value("My own text.")
    page.get_by_role("button", name="Keep mine").click()
    expect(notice).to_be_hidden()
    page.goto(link)
    page.get_by_role("button", name="Put the link's text in its place").click()
    expect(text).to_have_value(ODD)
    expect(notice).to_be_hidden()
    page.keyboard.press("Control+z")
    expect(text).to_have_value("My own text.")


def test_a_long_text_is_no_link_and_a_long_link_no_text(page: Any, endpoint: Running) -> None:
    text = page.get_by_label("Your text")
    text.fill("x" * 7_000 + "é" * 500)
    page.get_by_text("Share my text by a link").click()
    expect(page.locator("#share_says")).to_contain_text(
        "there it takes 10,005 characters, and at most 8,000 fit"
    )
    expect(page.get_by_role("button", name="Copy a link with my text")).to_be_hidden()
    text.fill("short")
    expect(page.get_by_role("button", name="Copy a link with my text")).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    page.goto(f"{endpoint.url}/#text={'x' * 8_000}")
    expect(page.locator("#toast")).to_contain_text("The link's text is too long")
    expect(text).to_have_value("")
    page.goto(f"{endpoint.url}/#text=%20&gap=x")
    expect(text).to_have_value("")


def test_beside_a_list_that_is_shown_the_text_of_a_link_is_not_sent_either(page: Any) -> None:
    text = page.get_by_label("Your text")
    text.fill(DRAFT)
    gap_button(page, 2).click()
    link = copied_link(page)
    search(page, "We parse trees [CIT].")
    sent = requests_of(page)
    page.goto(link)
    page.get_by_role("button", name="Put the link's text in its place").click()
    expect(text).to_have_value(DRAFT)
    expect(gap_button(page, 2)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#cards li")).to_have_count(0)
    page.wait_for_timeout(300)
    assert sent == [], "nothing is asked before its reader presses Find papers"
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 2")
