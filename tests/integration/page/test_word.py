"""A dropped .docx comes back with the papers that the author chose for its gaps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from helpers.page import DRAFT, drop, go_to_gap, requests_of, settled, titles, use
from helpers.word_files import draft_file, saved

from cocite.drafts.style_names import SHORT_NAMES

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
DOWNLOAD = "Download finished .docx"


def opened(page: Any, *paragraphs: str) -> None:
    """Drop the file, and find papers for its first gap."""
    drop(page, {"paper.docx": draft_file(*(paragraphs or [DRAFT]))})
    expect(page.get_by_role("group", name="paper.docx")).to_be_visible()
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator("#summary")).to_contain_text("for gap 1 of")
    settled(page)


def downloaded(page: Any) -> list[str]:
    """The paragraphs of the file that the page gives."""
    with page.expect_download() as download:
        page.get_by_role("button", name=DOWNLOAD).click()
    assert download.value.suggested_filename == "paper-cited.docx"
    document = Document(io.BytesIO(Path(download.value.path()).read_bytes()))
    return [paragraph.text for paragraph in document.paragraphs]


def test_the_file_gets_the_chosen_papers_and_a_gap_without_any_stays(page: Any) -> None:
    opened(page)
    says = page.locator("#word_says")
    expect(says).to_have_text("Papers that you use for its gaps are cited in a copy of the file.")
    chosen = [use(page, 1), use(page, 3)]
    expect(says).to_have_text("1 of its 2 gaps has papers. The other one stays as it is.")
    sent = requests_of(page, "/v1/draft/finished")
    texts = downloaded(page)
    expect(page.locator("#toast")).to_have_text("paper-cited.docx downloaded; 1 gap is still open")
    [body] = sent
    assert [(one["gap"], len(one["papers"])) for one in body["chosen"]] == [(1, 2)]
    assert texts[0] == "Neural translation"
    assert "allocation (" in texts[1]
    assert texts[1].endswith("scored with BLEU [CIT].")
    assert texts[2] == "References"
    listed = " ".join(texts[3:]).lower()
    assert len(texts[3:]) == 2
    assert all(title.lower() in listed for title in chosen)
    # The text on the page is as it was, and so are the cards.
    expect(page.get_by_label("Your text")).to_have_value(f"Neural translation\n\n{DRAFT}")
    expect(page.locator(".card.picked")).to_have_count(2)


def test_the_references_have_the_style_that_is_chosen(page: Any) -> None:
    opened(page)
    use(page, 0)
    page.get_by_label("References as").select_option("IEEE")
    texts = downloaded(page)
    assert "allocation [1]." in texts[1]
    assert texts[-1].startswith("[1] ")
    page.reload()
    expect(page.locator("#word")).to_be_hidden()
    expect(page.locator("#word_style")).to_have_value("ieee")
    # The same file again: what was chosen for its gaps counts.
    drop(page, {"paper.docx": draft_file(DRAFT)})
    expect(page.locator("#word_says")).to_have_text(
        "1 of its 2 gaps has papers. The other one stays as it is."
    )
    assert downloaded(page) == texts


def test_what_was_put_into_the_text_counts_until_it_is_taken_out(page: Any) -> None:
    paragraphs = [*DRAFT.replace(". ", ".\n").split("\n"), "Words are split [CIT]."]
    opened(page, *paragraphs)
    use(page, 0)
    page.get_by_role("button", name="Insert at gap 1").click()
    says = page.locator("#word_says")
    expect(says).to_have_text("1 of its 3 gaps has papers. The others stay as they are.")
    expect(page.locator("#summary")).to_contain_text("for gap 1 of 2")
    settled(page)
    go_to_gap(page, 2)
    settled(page)
    use(page, 0)
    expect(says).to_have_text("2 of its 3 gaps have papers. The other one stays as it is.")
    texts = downloaded(page)
    assert ["[CIT]" in text for text in texts[1:4]] == [False, True, False]
    text = page.get_by_label("Your text")
    text.focus()
    page.keyboard.press("Control+z")
    expect(text).to_have_value("\n\n".join(["Neural translation", *paragraphs]))
    expect(says).to_have_text("1 of its 3 gaps has papers. The others stay as they are.")
    page.keyboard.press("Control+Shift+z")
    expect(says).to_have_text("2 of its 3 gaps have papers. The other one stays as it is.")
    assert downloaded(page) == texts


def test_what_was_put_into_the_text_before_a_reload_is_chosen_for_the_same_file(page: Any) -> None:
    paragraphs = [*DRAFT.replace(". ", ".\n").split("\n"), "Words are split [CIT]."]
    opened(page, *paragraphs)
    says = page.locator("#word_says")
    titles_used = []
    for number, left in ((0, "for gap 1 of 2"), (2, "20 papers in")):
        titles_used.append(use(page, number))
        page.get_by_role("button", name="Insert at gap 1").click()
        expect(page.locator("#summary")).to_contain_text(left)
        settled(page)
    two = "2 of its 3 gaps have papers. The other one stays as it is."
    expect(says).to_have_text(two)
    texts = downloaded(page)
    for _ in range(2):  # what a visit was told by the one before, it tells the next
        page.reload()
        expect(page.locator("#summary")).to_contain_text("20 papers")
        settled(page)
    drop(page, {"paper.docx": draft_file(*paragraphs)})
    expect(says).to_have_text(two)
    assert downloaded(page) == texts
    for number, title in enumerate(titles_used, start=1):
        go_to_gap(page, number)
        expect(page.get_by_role("button", name=f"Do not use {title}")).to_be_visible()
    # The text with the citations is one undo away, and they count there as they did.
    page.get_by_label("Your text").focus()
    page.keyboard.press("Control+z")
    expect(page.locator("#gaps").get_by_role("button")).to_have_count(1)
    expect(says).to_have_text(two)
    assert downloaded(page) == texts


def test_papers_put_into_a_file_go_to_the_same_words_of_the_next_one(page: Any) -> None:
    paragraphs = [*DRAFT.replace(". ", ".\n").split("\n")]
    opened(page, *paragraphs)
    title = use(page, 0)
    page.get_by_role("button", name="Insert at gap 1").click()
    expect(page.locator("#summary")).to_contain_text("20 papers in")
    settled(page)
    drop(page, {"paper.docx": draft_file("A new claim [CIT].", *paragraphs)})
    expect(page.locator("#word_says")).to_contain_text("1 of its 3 gaps has papers.")
    go_to_gap(page, 2)
    expect(page.get_by_role("button", name=f"Do not use {title}")).to_be_visible()


def test_another_text_is_not_that_of_the_file(page: Any) -> None:
    opened(page)
    use(page, 0)
    text = page.get_by_label("Your text")
    text.fill("Something else [CIT].")
    expect(page.locator("#word")).to_be_hidden()
    drop(page, {"paper.docx": draft_file(DRAFT)})
    expect(page.locator("#word")).to_be_visible()
    drop(page, {"a.tex": b"Something else \\cite{?}."})
    expect(page.locator("#word")).to_be_hidden()
    drop(page, {"paper.docx": draft_file("No gap.")})
    expect(text).to_have_value("Neural translation\n\nNo gap.")
    expect(page.locator("#word")).to_be_hidden()
    drop(page, {"paper.docx": draft_file(DRAFT)})
    expect(page.locator("#word")).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator("#word")).to_be_hidden()


def test_a_gap_that_the_page_does_not_see_keeps_the_file_from_being_finished(page: Any) -> None:
    document = Document()
    document.add_heading("Translation [CIT]", 1)
    document.add_paragraph(DRAFT)
    drop(page, {"paper.docx": saved(document)})
    expect(page.locator("#word_says")).to_contain_text("Its gaps are not those of the text here")
    expect(page.get_by_role("button", name=DOWNLOAD)).to_be_hidden()


def test_what_goes_wrong_is_said_beside_the_button_and_the_cards_stay(
    page: Any, complaints: list[str]
) -> None:
    opened(page)
    before = titles(page)
    error = page.locator("#word_error")
    page.get_by_role("button", name=DOWNLOAD).click()
    expect(error).to_have_text("Use a paper for one of its gaps first: then it is cited in the file.")
    use(page, 0)
    expect(error).to_be_hidden()

    def unknown(route: Any) -> None:
        body = route.request.post_data_json
        body["chosen"][0]["papers"] = ["gone"]
        route.continue_(post_data=body)

    page.route("**/v1/draft/finished", unknown)
    page.get_by_role("button", name=DOWNLOAD).click()
    expect(error).to_have_text("The corpus has no paper with the id 'gone'.")
    page.unroute("**/v1/draft/finished")
    page.route("**/v1/draft/finished", lambda route: route.abort())
    page.get_by_role("button", name=DOWNLOAD).click()
    expect(error).to_have_text("The server cannot be reached. Is it still running?")
    assert titles(page) == before
    page.unroute("**/v1/draft/finished")
    complaints.clear()  # the browser's own, of the request that was cut off
    downloaded(page)
    expect(error).to_be_hidden()


def test_the_page_offers_the_styles_that_have_short_names(page: Any) -> None:
    found = page.evaluate("async () => Object.keys((await import('/static/styles.js')).STYLES)")
    assert sorted(found) == sorted(SHORT_NAMES)
    drop(page, {"paper.docx": draft_file(DRAFT)})
    labels = page.locator("#word_style option").all_inner_texts()
    assert labels == ["Harvard", "APA", "ACL", "ACM", "IEEE", "Chicago", "Vancouver", "Nature"]
