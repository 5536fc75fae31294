"""The web page in a real browser."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import bibtexparser
import pytest
import uvicorn
from fastapi import FastAPI
from helpers.api_backend import InProcess
from helpers.endpoint import Running, free_port

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
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine: the page is not tested", allow_module_level=True)
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
)
expect = sync_api.expect

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PASSAGE = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
DRAFT = "Topics are found by latent Dirichlet allocation [CIT]. Translations are scored with BLEU [CIT]."
WAIT_MS = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: object, endpoint: Running) -> Iterator[object]:
    """A fresh page, on which nothing was logged as an error and nothing was fetched from elsewhere."""
    context = browser.new_context(  # type: ignore[attr-defined]
        viewport={"width": 1280, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on(
        "request", lambda request: complaints.append(request.url) if _foreign(request.url, endpoint) else None
    )
    page.goto(endpoint.url)
    yield page
    context.close()
    assert [text for text in complaints if "422" not in text] == []


def _foreign(url: str, endpoint: Running) -> bool:
    return not url.startswith((endpoint.url, "data:", "blob:"))


def search(page: object, text: str) -> None:
    page.get_by_label("Your text").fill(text)  # type: ignore[attr-defined]
    page.get_by_role("button", name="Find papers").click()  # type: ignore[attr-defined]
    settled(page)


def settled(page: object) -> None:
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")  # type: ignore[attr-defined]


def titles(page: object) -> list[str]:
    return page.locator(".card h3").all_inner_texts()  # type: ignore[attr-defined, no-any-return]


def test_paste_and_see_cards_with_their_evidence(page: object) -> None:
    search(page, PASSAGE)
    expect(page.locator(".card")).to_have_count(20)
    expect(page.locator(".summary")).to_contain_text("20 papers")
    first = page.locator(".card").first
    assert "BLEU" in first.locator("h3").inner_text()
    assert first.locator(".words li").count() > 0
    details = first.get_by_role("button", name="Details")
    expect(details).to_have_attribute("aria-expanded", "false")
    details.click()
    expect(first.locator(".stages dt").first).to_be_visible()
    expect(first.locator(".abstract")).to_be_visible()


def test_an_answer_without_some_shards_says_so_and_a_whole_one_does_not(page: object) -> None:
    lacking = {"answered": 7, "of": 8, "missing": [3]}

    def answer(route: object) -> None:
        response = route.fetch()  # type: ignore[attr-defined]
        route.fulfill(response=response, json={**response.json(), "shards": lacking})  # type: ignore[attr-defined]

    notice = page.locator("#incomplete")  # type: ignore[attr-defined]
    page.route("**/v1/recommend", answer)  # type: ignore[attr-defined]
    search(page, PASSAGE)
    expect(notice).to_contain_text("Only 7 of 8 parts of the corpus answered")
    lacking |= {"answered": 8, "missing": []}
    search(page, DRAFT)
    expect(notice).to_be_hidden()


def test_years_and_leaving_a_paper_out(page: object) -> None:
    search(page, PASSAGE)
    before = titles(page)
    page.get_by_label("to", exact=True).fill("2010")
    expect(page.locator(".card h3").first).not_to_have_text(before[0])
    settled(page)
    shown = page.locator(".card .where").all_inner_texts()
    assert shown
    assert all(int(year) <= 2010 for text in shown for year in [next(w for w in text.split() if w.isdigit())])
    page.get_by_role("button", name="All years").click()
    expect(page.locator(".card h3").first).to_have_text(before[0])
    page.get_by_role("button", name=f"Leave out {before[0]}").click()
    expect(page.locator(".card h3").first).to_have_text(before[1])
    page.get_by_role("button", name=f"Bring back {before[0]}").click()
    expect(page.locator(".card h3").first).to_have_text(before[0])


def newest(page: object) -> int:
    shown = page.locator(".card .where").all_inner_texts()  # type: ignore[attr-defined]
    return max(int(next(word for word in text.split() if word.isdigit())) for text in shown)


def test_a_manuscripts_year_leaves_later_papers_out_until_told_otherwise(page: object) -> None:
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Year of your manuscript").fill("2012")
    search(page, PASSAGE)
    assert newest(page) <= 2012
    before = titles(page)
    limit = page.get_by_label("to", exact=True)
    expect(limit).to_have_attribute("placeholder", "2012")
    page.get_by_role("button", name="All years").click()
    expect(page.get_by_label("Also papers later than that year")).to_be_checked()
    expect(limit).not_to_have_attribute("placeholder", "2012")
    settled(page)
    assert newest(page) > 2012
    page.get_by_label("Also papers later than that year").uncheck()
    expect(limit).to_have_attribute("placeholder", "2012")
    assert titles(page) == before
    limit.fill("2016")
    expect(page.locator(".card h3")).not_to_have_text(before)
    settled(page)
    assert 2012 < newest(page) <= 2016


def test_select_and_copy_bibtex(page: object) -> None:
    search(page, PASSAGE)
    page.locator(".pick input").nth(0).check()
    page.locator(".pick input").nth(2).check()
    expect(page.get_by_text("2 papers selected")).to_be_visible()
    page.locator("#copy").click()
    expect(page.get_by_text("BibTeX of 2 papers copied")).to_be_visible()
    entries = bibtexparser.parse_string(page.evaluate("navigator.clipboard.readText()")).entries
    assert len(entries) == 2
    with page.expect_download() as download:
        page.get_by_role("button", name="Download .bib").click()
    assert len(bibtexparser.parse_string(Path(download.value.path()).read_text()).entries) == 2
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#tray")).to_be_hidden()


def test_a_draft_with_two_gaps(page: object) -> None:
    search(page, DRAFT)
    first = titles(page)
    page.get_by_role("button", name="Gap 2").click()
    expect(page.get_by_role("button", name="Gap 2")).to_have_attribute("aria-pressed", "true")
    settled(page)
    assert titles(page) != first
    assert "BLEU" in page.locator("#quote").inner_text()


def test_the_keyboard_is_enough(page: object) -> None:
    page.get_by_label("Your text").focus()
    page.keyboard.insert_text("We fill the gap")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your text")).to_have_value("We fill the gap [CIT]")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".card").first).to_be_visible()
    settled(page)
    page.locator(".pick input").first.focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("1 paper selected")).to_be_visible()


def test_a_refusal_is_shown_in_a_sentence_and_leaves_what_was_found(page: object) -> None:
    search(page, DRAFT)
    before = titles(page)
    assert len(before) == 20
    search(page, "x " * 60_000)
    expect(page.get_by_role("alert")).to_contain_text("text: at most 100,000 characters are allowed")
    assert titles(page) == before
    page.get_by_role("button", name="Gap 2").click()  # of the cards' own text
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#quote")).to_contain_text("BLEU")
    search(page, "x " * 60_000)
    page.get_by_label("Your text").fill(PASSAGE)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card")).to_have_count(20)
    expect(page.get_by_role("alert")).to_be_hidden()


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


def test_what_is_taken_from_a_list_of_two_releases_is_told(browser: object, starter_index: Path) -> None:
    backend = TwoInProcess(Recommender.load(None, starter_index))
    app = build_app(lambda: backend, ServeSettings(index=starter_index), clicks=backend)
    with in_this_process(app) as url:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])  # type: ignore[attr-defined]
        context.route("https://doi.org/**", lambda route: route.fulfill(body="the paper"))
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(url)
        search(page, PASSAGE)
        cards = page.locator(".card")
        with page.expect_response("**/v1/click") as told:
            cards.nth(0).get_by_role("button", name="Copy BibTeX").click()
        assert told.value.json() == {"counted": True}
        with page.expect_response("**/v1/click") as told, context.expect_page():
            cards.nth(1).get_by_role("link").click()
        assert told.value.json() == {"counted": True}
        cards.nth(3).get_by_role("checkbox").check()
        with page.expect_response("**/v1/click"):
            page.get_by_role("region", name="Selected papers").get_by_role(
                "button", name="Copy BibTeX"
            ).click()
        context.close()
    [comparison] = backend.ledger.comparisons()
    assert comparison.clicks == {"served": 1, "beside": 2}


def test_the_page_asks_for_a_key_and_keeps_it_until_its_tab_is_closed(
    browser: object, keyed: tuple[str, str]
) -> None:
    url, key = keyed
    context = browser.new_context()  # type: ignore[attr-defined]
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
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
    assert page.evaluate("Object.keys(localStorage)") == []
    other = context.new_page()
    other.goto(url)
    expect(other.get_by_role("alert")).to_contain_text("API key")
    context.close()


def test_markup_stays_text(page: object) -> None:
    """A paper of the corpus, and the author, may write what looks like markup."""
    search(page, "<img src=x onerror=document.title='owned'> attention [CIT] <b>bold</b>. More [CIT].")
    expect(page.locator("#quote")).to_contain_text("<b>bold</b>")
    assert page.locator("main img, main b >> text=bold").count() == 0
    assert page.title() != "owned"


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_overflows_a_narrow_screen(page: object, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    search(page, DRAFT)
    page.locator(".pick input").first.check()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_light_and_dark(page: object) -> None:
    def background() -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")  # type: ignore[no-any-return]

    before = background()
    page.get_by_role("button", name="Switch between light and dark").click()
    after = background()
    assert after != before
    page.reload()
    assert background() == after, "the choice is kept"
