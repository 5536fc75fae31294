"""The page names the sentences of a draft that need a citation, where the served model knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.axe_rules import complaints as axe_complaints
from helpers.endpoint import Running, serving
from helpers.page import (
    FAINT_TEXTS,
    NAMELESS,
    SMALL_TARGETS,
    clipboard,
    gap_button,
    kept_with_its_answer,
    mark,
    requests_of,
    settled,
    use,
)
from helpers.sure_classifier import sure_model

from cocite.systems.citing_sentences.quality import Quality

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
ASK = "Suggest where citations are missing"
FIRST = "We split \\emph{rare words} into subword units in all of our systems."
GAP = "Topics are found by latent Dirichlet allocation [CIT]."
LAST = "The quality of the translations is measured with BLEU on a held-out set"
TEXT = f"{FIRST} {GAP}\n\n{LAST} (as usual). Too short."
"""Two sentences that the classifier picks, with a gap between them, and one of fewer words than it takes."""


@pytest.fixture(scope="module")
def suggesting(starter_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An endpoint whose classifier says of each sentence that it needs a citation."""
    folder = tmp_path_factory.mktemp("suggesting")
    model = sure_model(folder / "model")
    with serving(
        model, starter_index, folder / "log.txt", "--on", "process", "--set", "request_timeout_s=300"
    ) as running:
        yield running


@pytest.fixture
def page(visit: Callable[..., Any], suggesting: Running) -> Any:
    """A fresh page of that endpoint."""
    return visit(suggesting.url)


def rows(page: Any) -> Any:
    """The listed sentences."""
    return page.get_by_role("group", name="Sentences that may need a citation").get_by_role("listitem")


def suggestions(page: Any, text: str = TEXT) -> None:
    """Ask for suggestions for a text, and wait for the papers of the first one."""
    page.get_by_label("Your text").fill(text)
    page.get_by_role("button", name=ASK).click()
    expect(page.locator("#summary")).to_contain_text("for suggestion 1 of 2")
    settled(page)


def test_a_model_without_a_classifier_offers_none(visit: Callable[..., Any]) -> None:
    expect(visit().get_by_role("button", name=ASK)).to_be_hidden()


def test_sentences_are_listed_marked_and_have_papers(page: Any) -> None:
    asked = requests_of(page)
    suggestions(page)
    expect(page.locator("#suggest_says")).to_contain_text("2 sentences may need a citation")
    assert [row.inner_text().split("\n")[0] for row in rows(page).all()] == [
        "Suggestion 1, ~73 %",
        "Suggestion 2, ~73 %",
    ]
    expect(page.locator("#suggest_quality")).to_have_text(Quality(0.47, 0.53).sentence)
    expect(page.locator("#suggest_more")).to_be_hidden()
    expect(rows(page).first).to_contain_text("We split rare words into subword units")
    marks = page.locator("#backdrop mark")
    assert marks.all_inner_texts() == [FIRST[:-1], "[CIT]", f"{LAST} (as usual)"]
    assert marks.evaluate_all("all => all.map((one) => one.dataset.number)") == ["1?", "1", "2?"]
    styles = marks.evaluate_all("all => all.map((one) => getComputedStyle(one).borderBottomStyle)")
    assert styles == ["solid", "none", "dashed"], "they differ without colours"
    expect(page.locator("#reading")).to_have_text("Reads as a passage with one gap")
    expect(page.locator("#quote")).to_contain_text("in all of our systems")
    assert (asked[0]["text"], asked[0]["gap"]) == (TEXT.replace("systems.", "systems [CIT]."), 0)
    expect(page.locator(".card[data-id]")).to_have_count(20)
    rows(page).nth(1).get_by_role("button").first.click()
    expect(page.locator("#summary")).to_contain_text("for suggestion 2 of 2")
    assert asked[-1]["gap"] == 1
    assert "usual) [CIT]. Too short." in asked[-1]["text"]
    gap_button(page, 1).click()
    expect(page.locator("#summary")).not_to_contain_text("suggestion")
    assert (asked[-1]["text"], asked[-1]["gap"]) == (TEXT, 0)


def test_papers_are_put_at_the_end_of_the_sentence(page: Any) -> None:
    suggestions(page)
    use(page, 0)
    expect(page.locator("#chosen_where")).to_have_text("For suggestion 1")
    page.get_by_role("button", name="Copy finished text").click()
    expect(page.locator("#toast")).to_have_text("Text copied; 1 gap is still open")
    copied = clipboard(page)
    assert copied.startswith("We split \\emph{rare words} into subword units in all of our systems \\cite{")
    page.get_by_role("button", name="Insert at suggestion 1").click()
    text = page.get_by_label("Your text")
    expect(text).to_have_value(copied)
    expect(rows(page)).to_have_count(1)
    expect(page.locator("#summary")).not_to_contain_text("suggestion")
    text.focus()
    page.keyboard.press("Control+z")
    expect(text).to_have_value(TEXT)
    expect(rows(page)).to_have_count(2)


def test_suggestions_are_dismissed_one_by_one(page: Any) -> None:
    suggestions(page)
    page.get_by_role("button", name="Dismiss suggestion 1").click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("Suggestion 1, ~73 %")
    expect(rows(page).first).to_contain_text("The quality of the translations")
    expect(page.locator("#summary")).not_to_contain_text("suggestion")  # the gap behind it is in focus
    expect(page.get_by_role("button", name="Dismiss suggestion 1")).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(0)
    expect(page.get_by_role("button", name=ASK)).to_be_focused()
    assert page.locator("#backdrop mark").all_inner_texts() == ["[CIT]"]


def test_the_last_one_dismissed_leaves_the_list_to_the_text(page: Any) -> None:
    page.get_by_label("Your text").fill(f"{LAST}.")
    page.get_by_role("button", name=ASK).click()
    expect(page.locator("#suggest_says")).to_contain_text("One sentence may need a citation")
    expect(page.locator("#summary")).to_contain_text("for suggestion 1 of 1")
    settled(page)
    page.get_by_role("button", name="Dismiss suggestion 1").click()
    expect(page.locator("#summary")).to_contain_text("20 papers in")


def test_a_sentence_that_is_edited_is_no_suggestion_until_it_is_back(page: Any) -> None:
    suggestions(page)
    text = page.get_by_label("Your text")
    text.fill(TEXT.replace("rare", "few"))
    expect(rows(page)).to_have_count(1)
    text.fill(f"A new beginning. {TEXT}")
    expect(rows(page)).to_have_count(2)
    text.fill(TEXT.replace("systems.", "systems [CIT]."))
    expect(rows(page)).to_have_count(1)
    text.fill("Something else.")
    expect(rows(page)).to_have_count(0)


def test_the_keyboard_is_enough_and_a_reload_loses_none(page: Any) -> None:
    page.get_by_label("Your text").fill(TEXT)
    page.get_by_role("button", name=ASK).press("Enter")
    expect(page.locator("#summary")).to_contain_text("for suggestion 1 of 2")
    settled(page)
    for where in ("20 papers in", "for suggestion 2 of 2"):
        page.keyboard.press("n")
        expect(page.locator("#summary")).to_contain_text(where)
        settled(page)
    page.keyboard.press("j")
    page.keyboard.press("u")
    expect(rows(page).nth(1)).to_contain_text("Suggestion 2, ~73 %: 1 paper")
    mark(page, "More like this", 1)
    expect(page.locator("#marks_where")).to_have_text("Steering the list of suggestion 2")
    kept_with_its_answer(page)
    page.reload()
    expect(page.locator("#summary")).to_contain_text("for suggestion 2 of 2")
    expect(rows(page).nth(1)).to_contain_text("Suggestion 2, ~73 %: 1 paper")
    expect(page.locator("#liked .chip")).to_have_count(1)
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(rows(page)).to_have_count(0)


def test_what_goes_wrong_is_said_beside_the_button(page: Any, complaints: list[str]) -> None:
    ask = page.get_by_role("button", name=ASK)
    ask.click()
    expect(page.locator(".field-error")).to_have_text("Paste some text first.")
    page.get_by_label("Your text").fill("Too short.")
    ask.click()
    says = page.locator("#suggest_says")
    expect(says).to_have_text("No sentence seems to need a citation.")
    page.route("**/v1/draft/text", lambda route: route.abort())
    ask.click()
    expect(says).to_have_text("The server cannot be reached. Is it still running?")
    complaints.clear()  # the browser's own, of the request that was cut off


MANY = " ".join(
    f'Die \\"Uber $x^{number}$ na\\"{{\\i}}ve \\emph{{trees}} 𝒯 are grown in all fields.'
    for number in range(23)
)


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_suggestions_are_read_and_touched_by_all(
    visit: Callable[..., Any], suggesting: Running, theme: str
) -> None:
    page = visit(
        suggesting.url, viewport={"width": 390, "height": 844}, color_scheme=theme, reduced_motion="reduce"
    )
    suggestions(page)
    use(page, 0)
    for _ in range(2):
        for found in (FAINT_TEXTS, SMALL_TARGETS, NAMELESS):
            assert page.evaluate(found) == []
        assert axe_complaints(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_label("Your text").fill(MANY)
        page.get_by_role("button", name=ASK).click()
        expect(page.get_by_role("button", name="Show 10 more")).to_be_visible()
        settled(page)


def test_all_sentences_are_reached_whatever_stands_in_them(page: Any) -> None:
    page.get_by_label("Your text").fill(MANY)
    page.get_by_role("button", name=ASK).click()
    says, more = page.locator("#suggest_says"), page.locator("#suggest_more")
    expect(says).to_contain_text(
        "23 sentences may need a citation. These are the 10 most probable, with the prob"
    )
    expect(page.locator("#suggest_quality")).to_have_text(Quality(0.47, 0.53).sentence)
    marks = page.locator("#backdrop mark")
    assert marks.all_inner_texts() == [one.removesuffix(".") for one in MANY.split(". ")[:10]]
    expect(rows(page)).to_have_count(10)
    settled(page)
    more.press("Enter")
    expect(rows(page)).to_have_count(20)
    expect(more).to_be_focused()
    kept_with_its_answer(page)
    page.reload()
    expect(rows(page)).to_have_count(20)
    expect(page.locator("#suggest_quality")).to_have_text(Quality(0.47, 0.53).sentence)
    expect(more).to_have_text("Show 3 more")
    more.press("Enter")
    expect(rows(page)).to_have_count(23)
    expect(says).to_contain_text("23 sentences may need a citation, with the probability")
    expect(page.get_by_role("button", name="Suggestion 1, ")).to_be_focused()
    assert marks.count() == 23
    for _ in range(23):
        page.get_by_role("button", name="Dismiss suggestion 1", exact=True).click()
    expect(says).to_be_empty()
    expect(page.locator("#suggest_quality")).to_be_hidden()


PLACES = [
    # A text, what of it a sentence was, and what is marked; empty: nothing.
    ("Trees help us a lot. More.", "Trees help us a lot.", "Trees help us a lot"),
    ("We use\n\\textbf{big}~trees''. More.", "We use\n\\textbf{big}~trees''.", "We use\n\\textbf{big}~trees''"),
    ("A (small) tree (one)!", "A (small) tree (one)!", "A (small) tree (one)"),
    ("It says ``so.'' More.", "It says ``so.''", "It says ``so"),
    ("Na\\\"ive \\emph{trees}\n\nMore", "Na\\\"ive \\emph{trees", "Na\\\"ive \\emph{trees}"),
    ("Trees help us\\footnote{So.}", "Trees help us", "Trees help us"),
    ("Trees help us a lot \\cite{x}.", "Trees help us a lot.", ""),
    ("Trees help us a lot \\cite{x}", "Trees help us a lot", ""),
    ("Trees help us a lot [?].", "Trees help us a lot.", ""),
    ("Trees help us a lots.", "Trees help us a lot.", ""),
]  # fmt: skip


def test_sentences_are_found_in_their_sources(page: Any) -> None:
    found = page.evaluate(
        """async (rows) => {
          const { placesOf } = await import('/static/sentences.js');
          const { findGaps } = await import('/static/gaps.js');
          return rows.map(([text, source]) => placesOf(text, [{ id: 1, source }], findGaps(text))
            .map(({ from, end }) => text.slice(from, end)).join());
        }""",
        [row[:2] for row in PLACES],
    )
    assert found == [row[2] for row in PLACES]


def test_a_sentence_that_a_text_has_twice_has_two_places(page: Any) -> None:
    found = page.evaluate(
        """async () => {
          const { placesOf, withSources } = await import('/static/sentences.js');
          const text = '𝒯 grow. We. 𝒯 grow.';
          const at = [[0, 7], [12, 19], [null, null]].map(([start, end]) => ({ start, end, sentence: '' }));
          return placesOf(text, withSources(text, at), []).map(({ from, end }) => [from, end]);
        }"""
    )
    assert found == [[0, 7], [13, 20]]
