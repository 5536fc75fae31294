"""Papers are chosen for a gap, put into the text, and exported."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import bibtexparser
import pytest
from helpers.page import DRAFT, clipboard, gap_button, search, settled, titles, use

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect


def keys_of(bibtex: str) -> list[str]:
    return [entry.key for entry in bibtexparser.parse_string(bibtex).entries]


def gap(page: Any, number: int) -> None:
    gap_button(page, number).click()
    expect(page.locator("#summary")).to_contain_text(f"for gap {number} of")
    settled(page)


FORMS = [
    ("[CIT]", "latex", "\\cite{a,b}"),
    ("[CIT]", "markdown", "[@a; @b]"),
    ("[?]", "markdown", "[@a; @b]"),
    ("(citation needed)", "latex", "\\cite{a,b}"),
    ("[@?]", "latex", "[@a; @b]"),
    ("\\cite{}", "markdown", "\\cite{a,b}"),
    ("\\citep[see][p. 3]{?}", "latex", "\\citep[see][p. 3]{a,b}"),
    ("\\cite{lee99,?}", "markdown", "\\cite{lee99,a,b}"),
    ("\\cites(c)()[x]{lee99,}[y]{?}{kim01}", "latex", "\\cites(c)()[x]{lee99,}[y]{a,b}{kim01}"),
    ("\\citep[see][]{?, lee99,TODO}", "latex", "\\citep[see][]{a, b, lee99}"),
    ("\\cite{a,?}", "latex", "\\cite{a,b}"),
    ("\\todo{cite}", "latex", "\\cite{a,b}"),
    ("", "markdown", "[@a; @b]"),
]


def test_the_form_of_a_citation(page: Any) -> None:
    found = page.evaluate(
        """async (forms) => {
          const { citation } = await import('/static/citing.js');
          return forms.map(([mark, style]) => citation(mark, ['a', 'b'], style));
        }""",
        FORMS,
    )
    assert found == [expected for *_, expected in FORMS]


def test_papers_belong_to_their_gap_and_their_keys_are_inserted_there(page: Any) -> None:
    search(page, DRAFT)
    use(page, 0)
    gap(page, 2)
    expect(page.locator(".card.picked")).to_have_count(0)
    use(page, 0)
    use(page, 1)
    expect(gap_button(page, 2)).to_have_text("Gap 2: 2 papers")
    expect(page.get_by_text("3 papers selected")).to_be_visible()
    page.get_by_role("button", name="Insert at gap 2").click()
    text = page.get_by_label("Your text")
    expect(page.get_by_text("3 papers selected, 2 in the text")).to_be_visible()
    written = text.input_value()
    assert written.startswith("Topics are found by latent Dirichlet allocation [CIT]. Translations")
    inserted = written.partition("BLEU \\cite{")[2].partition("}")[0].split(",")
    page.get_by_role("button", name="Copy references").click()
    expect(page.get_by_text("BibTeX of 3 papers copied")).to_be_visible()
    assert keys_of(clipboard(page))[:2] == inserted
    expect(page.locator("#summary")).to_contain_text("20 papers in")  # the one gap that is left is in focus
    page.keyboard.press("Control+z")
    expect(text).to_have_value(DRAFT)


def test_the_form_is_kept_and_the_finished_text_has_all_chosen_keys(page: Any) -> None:
    search(page, DRAFT)
    use(page, 0)
    page.get_by_label("as", exact=True).select_option("[@key]")
    page.get_by_role("button", name="Copy finished text").click()
    expect(page.get_by_text("Text copied; 1 gap is still open")).to_be_visible()
    page.reload()
    settled(page)
    expect(page.locator("#style")).to_have_value("markdown")
    gap(page, 2)
    use(page, 1)
    page.get_by_role("button", name="Copy finished text").click()
    expect(page.get_by_text("Finished text copied")).to_be_visible()
    finished = clipboard(page)
    assert "[CIT]" not in finished
    assert finished.count("[@") == 2
    expect(page.get_by_label("Your text")).to_have_value(DRAFT)
    page.get_by_role("button", name="Copy references").click()
    expect(page.get_by_text("BibTeX of 2 papers copied")).to_be_visible()
    assert all(f"[@{key}]" in finished for key in keys_of(clipboard(page)))


def test_keys_are_those_that_the_reader_chose_in_the_text_and_in_the_references(page: Any) -> None:
    page.get_by_text("Options", exact=True).click()
    keys, text = page.get_by_label("Citation keys"), page.get_by_label("Your text")
    search(page, DRAFT)
    first = use(page, 0)
    page.get_by_role("button", name="Insert at gap 1").click()
    expect(page.locator("#summary")).to_contain_text("20 papers in")  # the one gap that is left is in focus
    settled(page)
    keys.select_option("better-bibtex")
    # The key that is in the text already is made anew.
    expect(text).to_have_value(re.compile(r"\\cite\{blei[A-Z]\w+2003\}"))
    expect(keys).to_be_focused()
    use(page, next(number for number, title in enumerate(titles(page)) if title != first))
    page.get_by_role("button", name="Insert at gap 1").click()
    expect(page.get_by_text("2 papers selected, 2 in the text")).to_be_visible()
    written = re.findall(r"\\cite\{(\w+)\}", text.input_value())
    assert [bool(re.search("[A-Z]", key)) for key in written] == [True, True]
    for _ in range(2):
        expect(keys).to_have_value("better-bibtex")
        page.get_by_role("button", name="Copy references").click()
        expect(page.get_by_text("BibTeX of 2 papers copied")).to_be_visible()
        assert keys_of(clipboard(page)) == written
        page.reload()


def test_a_new_key_is_none_that_the_text_has_for_another_paper(page: Any) -> None:
    def downloaded() -> list[str]:
        with page.expect_download() as download:
            page.get_by_role("button", name="Download", exact=True).click()
        return keys_of(Path(download.value.path()).read_text())

    search(page, DRAFT)
    use(page, 0)
    [plain] = downloaded()
    text = page.get_by_label("Your text")
    text.fill(f"{DRAFT} Ours is older \\cite{{{plain}}}.")
    settled(page)
    page.get_by_role("button", name="Insert at gap 1").click()
    expect(page.get_by_text("1 paper selected, 1 in the text")).to_be_visible()
    assert re.findall(r"\\cite\{(\w+)\}", text.input_value()) == [f"{plain}b", plain]
    assert downloaded() == [f"{plain}b"]
    # It stays after a reload, and when the author's own key is gone.
    page.reload()
    settled(page)
    assert downloaded() == [f"{plain}b"]
    text.fill(text.input_value().replace(f"{{{plain}}}", "{other}"))
    assert downloaded() == [f"{plain}b"]


def test_keys_are_found_in_a_text_as_whole_words(page: Any) -> None:
    found = page.evaluate(
        """async ([text, keys]) => {
          const { placesOf } = await import('/static/keys.js');
          return placesOf(text, keys).map(({ start, key }) => [start, key]);
        }""",
        ["\\cite{a1,a1b} [@a1; @x-a1] xa1 @a1.", ["a1", "a1b"]],
    )
    assert found == [[32, "a1"], [16, "a1"], [9, "a1b"], [6, "a1"]]


def test_a_text_without_gaps_takes_citations_at_the_cursor(page: Any) -> None:
    search(page, "Neural machine translation with attention")
    use(page, 0)
    page.get_by_role("button", name="Insert at the cursor").click()
    expect(page.get_by_text("1 paper selected, 1 in the text")).to_be_visible()
    assert "\\cite{" in page.get_by_label("Your text").input_value()


def test_a_paper_is_chosen_no_more(page: Any) -> None:
    search(page, DRAFT)
    title = use(page, 0)
    page.get_by_role("button", name=f"Used for gap 1: {title}").click()
    expect(page.locator("#tray")).to_be_hidden()
    use(page, 0)
    page.get_by_role("button", name=f"Do not use {title}").click()
    expect(page.get_by_role("button", name=f"Use for gap 1: {title}")).to_be_visible()
    use(page, 0)
    page.get_by_role("button", name="Unselect all").click()
    expect(page.locator("#tray")).to_be_hidden()
    expect(page.locator(".card.picked")).to_have_count(0)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("BibTeX", "cocite.bib"),
        ("RIS", "cocite.ris"),
        ("CSL-JSON", "cocite.json"),
        ("Formatted text (Harvard)", "cocite.txt"),
        ("Formatted text (Vancouver)", "cocite.txt"),
    ],
)
def test_references_are_downloaded_in_each_form(page: Any, form: str, name: str) -> None:
    search(page, DRAFT)
    chosen = [use(page, 0), use(page, 2)]
    page.get_by_label("Form of references").select_option(form)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == name
    text = Path(download.value.path()).read_text()
    if form == "BibTeX":
        found = len(keys_of(text))
    elif form == "RIS":
        found = text.count("ER  -")
    elif form.startswith("Formatted"):
        found = len(text.splitlines())
    else:
        found = len(json.loads(text))
    assert found == len(chosen)
    page.reload()
    expect(page.get_by_label("Form of references").locator("option:checked")).to_have_text(form)


def test_a_paper_left_out_is_chosen_no_more(page: Any) -> None:
    search(page, DRAFT)
    title = use(page, 0)
    page.get_by_role("button", name=f"Leave out {title}").click()
    expect(page.locator("#tray")).to_be_hidden()
    expect(page.locator(".card h3").first).not_to_have_text(title)
    assert title not in titles(page)
