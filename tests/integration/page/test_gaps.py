"""The gaps of the text field: found as the server finds them, marked, numbered, and followed through edits."""

from __future__ import annotations

import random
from typing import Any

import pytest
from helpers.page import DRAFT, gap_button, search, settled, titles, use

from cocite.drafts.gaps import GAP, GAP_PATTERN
from cocite_serve.http.pasted_text import read_pasted

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
LATEX = (
    "\\section{Related work}\nTopic models \\cite{?} describe documents. They use \\emph{trees} \\cite{lee99} and "
    "BLEU \\todo{cite}. As said [?], it is so (citation needed)."
)


def numbers(page: Any) -> list[str]:
    return page.locator("#backdrop mark").evaluate_all("marks => marks.map(mark => mark.dataset.number)")  # type: ignore[no-any-return]


def current(page: Any) -> str:
    return page.locator("#backdrop mark.current").get_attribute("data-number")  # type: ignore[no-any-return]


def test_the_page_and_the_server_find_the_same_gaps(page: Any) -> None:
    generator = random.Random(7)
    parts = [
        "[CIT]", "[cit ]", "TARGETCIT", "xTARGETCIT", "[?]", "[@?]", "[@]", "[@a]", "(citation needed)", "\\cite{}",
        "\\citep[see][]{?}", "\\cite{lee99}", "\\nocite{}", "\\todo{cite}", "\\todo{", "ref", "}", "{", "[", "]", "\\",
        "\u00e9", "\U0001f600", "\u017f", "\u212a", "\n", " ", "\\Citet*{TODO}", "\\todo[inline]{which reference?}",
        "\\cite{lee99,?}", "\\cite{", ",", "?", "\\cites(see)()[1]{lee99}", "{?}", "\\parencites", "\u00a0", "[ ? ]",
    ]  # fmt: skip
    texts = ["".join(generator.choices(parts, k=12)) for _ in range(500)]
    pattern, found = page.evaluate(
        """async (texts) => {
          const { GAP_PATTERN, findGaps } = await import('/static/gaps.js');
          return [GAP_PATTERN, texts.map((text) => findGaps(text).map((gap) => gap.mark))];
        }""",
        texts,
    )
    assert pattern == GAP_PATTERN
    assert found == [[match.group() for match in GAP.finditer(text)] for text in texts]
    assert sum(map(len, found)) > 500


def test_gaps_of_latex_are_marked_and_numbered_and_a_section_is_no_title(page: Any) -> None:
    search(page, LATEX)
    assert numbers(page) == ["1", "2", "3", "4"]
    marks = page.locator("#backdrop mark").all_inner_texts()
    assert marks == ["\\cite{?}", "\\todo{cite}", "[?]", "(citation needed)"]
    assert page.locator("#backdrop").inner_text().strip() == LATEX
    expect(page.locator("#reading")).to_have_text("Reads as a passage with 4 gaps")
    gap_button(page, 2).click()
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 4")
    settled(page)
    quote = page.locator("#quote").inner_text()
    assert "BLEU" in quote
    assert "emph" not in quote
    assert read_pasted(LATEX).title == ""


READINGS = [
    ("", ""),
    ("Neural parsing", "Reads as a title"),
    ("We parse.", "Reads as an abstract"),
    ("Neural parsing\n\nWe parse.", "Reads as a title and abstract"),
    ("\\section{Data}\nWe parse.", "Reads as an abstract"),
    ("\\title{Parsing}\nWe parse.", "Reads as a title and abstract"),
    ("We parse \\cite{lee99}.", "Reads as an abstract"),
    ("We parse \\cite{}.", "Reads as a passage with one gap"),
    ("We parse \\cite{lee99,?}.", "Reads as a passage with one gap"),
]


def test_the_page_says_how_a_text_is_read(page: Any) -> None:
    for text, says in READINGS:
        page.get_by_label("Your text").fill(text)
        expect(page.locator("#reading")).to_have_text(says)


def test_each_gap_has_its_own_papers(page: Any) -> None:
    search(page, DRAFT)
    first = titles(page)
    second = gap_button(page, 2)
    second.click()
    expect(second).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#quote")).to_contain_text("BLEU")
    settled(page)
    assert titles(page) != first
    assert current(page) == "2"


def test_the_focus_may_move_before_the_first_answer_is_there(page: Any) -> None:
    held: list[Any] = []
    page.route("**/v1/recommend", lambda route: route.continue_() if held else held.append(route))
    page.get_by_label("Your text").fill(DRAFT)
    with page.expect_request("**/v1/recommend"):
        page.get_by_role("button", name="Find papers").click()
    gap_button(page, 2).click()
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 2")
    expect(page.locator("#quote")).to_contain_text("BLEU")


def test_a_click_into_a_gap_focuses_it(page: Any) -> None:
    search(page, DRAFT)
    box = page.locator("#backdrop mark").nth(1).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#summary")).to_contain_text("for gap 2 of 2")
    assert current(page) == "2"


def test_marks_stand_behind_their_letters_in_a_long_text(page: Any) -> None:
    """The field and its backdrop break lines alike: what is marked is where the letters are."""
    page.get_by_label("Your text").fill(("Several words of a draft, " * 60 + "[CIT].\n\n") * 5)
    sizes = page.evaluate(
        "() => ['backdrop', 'text'].map((id) => document.getElementById(id))"
        ".map((node) => [node.clientWidth, node.scrollHeight])"
    )
    assert sizes[0] == sizes[1]
    gap_button(page, 5).click()
    expect(page.locator("#backdrop mark.current")).to_be_in_viewport()


def test_a_gap_keeps_its_papers_and_the_focus_while_the_text_is_edited(page: Any) -> None:
    search(page, DRAFT)
    gap_button(page, 2).click()
    settled(page)
    expect(page.locator("#quote")).to_contain_text("BLEU")
    title = use(page, 0)
    assert numbers(page) == ["1", "2✓"]
    text = page.get_by_label("Your text")
    text.focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("A new claim [CIT]. ")
    assert numbers(page) == ["1", "2", "3✓"]
    assert current(page) == "3✓"
    expect(page.get_by_role("button", name=f"Do not use {title}")).to_be_visible()
    text.fill("No gap any more")
    expect(page.get_by_text("1 paper selected")).to_be_visible()
    expect(page.locator("#chosen_where")).to_have_text("For the text")


def test_insert_a_mark_at_the_cursor_and_take_it_back(page: Any) -> None:
    text = page.get_by_label("Your text")
    text.fill("We fill the gap")
    page.get_by_role("button", name="Insert [CIT]").click()
    expect(text).to_have_value("We fill the gap [CIT]")
    page.keyboard.press("Control+z")
    expect(text).to_have_value("We fill the gap")
