"""The page of an endpoint that asks for keys, or answers with papers of two releases."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from helpers.api_backend import InProcess
from helpers.endpoint import free_port
from helpers.page import BIB, PASSAGE, WAIT_MS, give, search, settled, use

from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite_serve.comparison.ledger import Comparison, Ledger, Pair
from cocite_serve.comparison.team_draft import TEAMS, Team
from cocite_serve.http.api import build_app
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.key_file import new_key
from cocite_serve.settings import KeySettings, ServeSettings

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect


@contextmanager
def in_this_process(app: FastAPI) -> Iterator[str]:
    """Serve an application; yields its address."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture
def keyed(starter_index: Path, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of the same API in this process, which asks for a key, and the key."""
    key = new_key(tmp_path / "keys", "web")
    backend = InProcess(Recommender.load(None, starter_index))
    settings = ServeSettings(index=starter_index, keys=KeySettings(file=tmp_path / "keys"))
    with in_this_process(build_app(lambda: backend, settings)) as url:
        yield url, key


class TwoInProcess(InProcess):
    """A backend whose answers have papers of two releases, by turns."""

    def __init__(self, recommender: Recommender) -> None:
        super().__init__(recommender)
        self.ledger = Ledger()

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        answer = await super().recommend(query, options, deadline)
        papers = [replace(paper, doi=f"10.1/{paper.id}") for paper in answer.recommendations]
        teams = {paper.id: TEAMS[rank % 2] for rank, paper in enumerate(papers)}
        self.ledger.register("t", Pair("", "000001", "", "000002"), teams)
        return replace(answer, recommendations=papers, release="interleaved", token="t")

    async def register(self, *_: object) -> None:
        return

    async def credit(self, token: str, paper: str) -> Team | None:
        return self.ledger.credit(token, paper)

    async def comparisons(self) -> list[Comparison]:
        return self.ledger.comparisons()


def test_what_is_taken_from_a_list_of_two_releases_is_told(browser: Any, starter_index: Path) -> None:
    backend = TwoInProcess(Recommender.load(None, starter_index))
    app = build_app(lambda: backend, ServeSettings(index=starter_index), clicks=backend)
    with in_this_process(app) as url:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        context.route("https://doi.org/**", lambda route: route.fulfill(body="the paper"))
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(url)
        search(page, PASSAGE)
        cards = page.locator(".card")
        with page.expect_response("**/v1/click") as told:
            cards.nth(0).get_by_role("button", name="Copy reference").click()
        assert told.value.json() == {"counted": True}
        with page.expect_response("**/v1/click") as told, context.expect_page():
            cards.nth(1).locator("p.links").get_by_role("link", name="DOI").click()
        assert told.value.json() == {"counted": True}
        use(page, 3)
        with page.expect_response("**/v1/click"):
            page.get_by_role("button", name="Copy references").click()
        context.close()
    [comparison] = backend.ledger.comparisons()
    assert comparison.clicks == {"served": 1, "beside": 2}


def test_the_page_asks_for_a_key_and_keeps_it_until_its_tab_is_closed(
    browser: Any, keyed: tuple[str, str]
) -> None:
    url, key = keyed
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(url)
    expect(page.get_by_role("alert")).to_contain_text("This endpoint asks for an API key")
    search(page, PASSAGE)
    for wrong in ("cocite_wrong", "пароль"):
        page.get_by_label("API key").fill(wrong)
        page.get_by_role("button", name="Use this key").click()
        settled(page)
        expect(page.get_by_label("API key")).to_have_value("")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Use this key").click()
    expect(page.locator(".card")).to_have_count(20)
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#corpus")).to_contain_text("papers")
    page.reload()
    search(page, PASSAGE)
    expect(page.locator(".card")).to_have_count(20)
    assert key not in page.evaluate("JSON.stringify(localStorage)")
    other = context.new_page()
    other.goto(url)
    expect(other.get_by_role("alert")).to_contain_text("API key")
    context.close()


def test_each_part_of_the_page_asks_for_a_key_that_is_no_longer_known(
    browser: Any, keyed: tuple[str, str]
) -> None:
    url, key = keyed
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(url)

    def give_key(given: str) -> None:
        page.get_by_label("API key").fill(given)
        page.get_by_role("button", name="Use this key").click()

    search(page, "Translation by attention alone [@v:17], without recurrence [@?].")
    give_key(key)
    expect(page.locator(".card")).to_have_count(20)
    give(page, "library.bib", BIB)
    page.locator("#library_summary").click()
    use(page, 0)
    alert = page.get_by_role("alert")
    for name, done in (
        ("Leave out the paper that my text cites", "My draft cites 1 paper: 1 in this corpus"),
        ("Copy references", "BibTeX copied"),
        ("Insert at gap 1", "Inserted"),
    ):
        # The key is taken back and given again: the page does what was asked of it.
        context.route("**/v1/**", refuse_key)
        page.get_by_role("button", name=name, exact=True).click(timeout=30_000)
        expect(alert).to_contain_text("This endpoint asks for an API key")
        context.unroute("**/v1/**", refuse_key)
        give_key(key)
        expect(page.get_by_text(done).first).to_be_visible()
        expect(alert).to_be_hidden()
        settled(page)
    context.close()


def refuse_key(route: Any) -> None:
    """Answer as an endpoint does whose keys were changed."""
    route.fulfill(status=401, json={"error": "This endpoint asks for an API key."})
