"""What the page shows of an answer: cards with their reasons, notices, and what is wrong with a request."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.page import DRAFT, PASSAGE, calibrate, clipboard, search, settled, titles

from cocite_serve.http.problem_body import problem
from cocite_serve.http.problems import FAILED, TooSlowError

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
TOO_LONG = "x " * 60_000


def test_paste_and_see_cards_with_their_evidence(page: Any) -> None:
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


def test_details_have_all_of_the_evidence(page: Any) -> None:
    evidence = {
        "shared_words": [{"word": f"word{number}", "weight": 20.0 - number} for number in range(14)],
        "cited_by": [
            {"id": str(number), "title": f"Citing paper {number}", "year": 2001} for number in range(5)
        ],
        "sentences": [
            {"sentence": f"Sentence {number} cites TARGETCIT.", "id": "a", "title": "A", "year": None}
            for number in range(3)
        ],
        "seeds": [{"id": str(number), "title": f"Liked paper {number}", "year": 2001} for number in range(4)],
    }

    def answer(route: Any) -> None:
        response = route.fetch()
        body = response.json()
        body["papers"][0]["evidence"] = evidence
        route.fulfill(response=response, json=body)

    page.route("**/v1/recommend", answer)
    search(page, PASSAGE)
    first = page.locator(".card").first
    for hidden in ("word13", "Citing paper 4", "Liked paper 3", "Sentence 2 cites"):
        expect(first.get_by_text(hidden)).to_be_hidden()
    first.get_by_role("button", name="Details").click()
    for shown in ("word13", "Citing paper 4", "Liked paper 3", "Sentence 2 cites"):
        expect(first.get_by_text(shown)).to_be_visible()


def test_probabilities_stand_on_the_cards_and_a_list_of_improbable_ones_is_noted(page: Any) -> None:
    search(page, PASSAGE)
    expect(page.locator(".chance")).to_have_count(0)
    expect(page.locator("#note")).to_be_hidden()
    calibrate(page)
    search(page, PASSAGE)
    expect(page.locator("#note")).to_have_text("Nothing here fits: no paper reaches 10 %.")
    shown = [" ".join(chance.inner_text().split()) for chance in page.locator(".chance").all()]
    assert shown == [f"Cited in {percent} % of such cases" for percent in ("~9", "<1", ">99", "<1")]


def test_a_text_unlike_the_corpus_is_noted_above_its_cards(page: Any) -> None:
    note = "This text is unlike the papers of the corpus, which may hold nothing for it."
    search(
        page, "Patients with arthritis received cortisol injections after surgery of the knee joint [CIT]."
    )
    expect(page.locator("#note")).to_have_text(note)
    expect(page.locator(".card")).to_have_count(20)
    expect(page.locator("#said")).to_contain_text(note)
    search(page, PASSAGE)
    expect(page.locator("#note")).to_be_hidden()


def test_an_answer_without_some_shards_says_so_and_a_whole_one_does_not(page: Any) -> None:
    lacking = {"answered": 7, "of": 8, "missing": [3]}

    def answer(route: Any) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "shards": lacking})

    notice = page.locator("#incomplete")
    page.route("**/v1/recommend", answer)
    search(page, PASSAGE)
    expect(notice).to_contain_text("Only 7 of 8 parts of the corpus answered")
    lacking |= {"answered": 8, "missing": []}
    search(page, DRAFT)
    expect(notice).to_be_hidden()


def test_years_and_leaving_a_paper_out(page: Any) -> None:
    search(page, PASSAGE)
    before = titles(page)
    page.get_by_label("to", exact=True).fill("2001")
    expect(page.locator(".card h3").first).not_to_have_text(before[0])
    settled(page)
    shown = years(page)
    assert shown
    assert max(shown) <= 2001
    page.get_by_role("button", name="All years").click()
    expect(page.locator(".card h3").first).to_have_text(before[0])
    page.get_by_role("button", name=f"Leave out {before[0]}").click()
    expect(page.locator(".card h3").first).to_have_text(before[1])
    page.get_by_role("button", name=f"Bring back {before[0]}").click()
    expect(page.locator(".card h3").first).to_have_text(before[0])


def test_an_author_is_typed_or_chosen_among_those_of_the_papers(page: Any) -> None:
    search(page, PASSAGE)
    options = (
        "[...document.querySelectorAll('#author_names option')].map((one) => [one.value, one.textContent])"
    )
    offered = dict(page.evaluate(options))
    name, count = next(iter(offered.items()))
    assert int(count.split()[0]) > 1, "the most frequent stands first"
    author = page.get_by_label("Author", exact=True)
    cards = page.locator(".card[data-id]")
    for typed in (name, name.split()[-1].upper()):
        author.fill(typed)
        expect(page.locator("#summary")).to_contain_text(" of 20 papers")
        assert cards.count() >= int(count.split()[0])
        author.fill("")
        expect(cards).to_have_count(20)
    alone = next(one for one, papers in offered.items() if papers == "1 paper")
    author.fill(alone)
    expect(cards).to_have_count(1)
    author.fill("nobody of that name")
    expect(page.get_by_text("None of these papers passes the filters above.")).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(author).to_have_value("")


def years(page: Any) -> list[int]:
    shown = page.locator(".card .where").all_inner_texts()
    return [int(next(word for word in text.split() if word.isdigit())) for text in shown]


def test_a_manuscripts_year_leaves_later_papers_out_until_told_otherwise(page: Any) -> None:
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Year of your manuscript").fill("2012")
    search(page, PASSAGE)
    assert max(years(page)) <= 2012
    before = titles(page)
    limit = page.get_by_label("to", exact=True)
    expect(limit).to_have_attribute("placeholder", "2012")
    page.get_by_role("button", name="All years").click()
    expect(page.get_by_label("Also papers later than that year")).to_be_checked()
    expect(limit).not_to_have_attribute("placeholder", "2012")
    settled(page)
    assert max(years(page)) > 2012
    page.get_by_label("Also papers later than that year").uncheck()
    expect(limit).to_have_attribute("placeholder", "2012")
    assert titles(page) == before
    limit.fill("2016")
    expect(page.locator(".card h3")).not_to_have_text(before)
    settled(page)
    assert 2012 < max(years(page)) <= 2016


def test_a_refusal_stands_beside_its_field_and_leaves_what_was_found(page: Any) -> None:
    search(page, DRAFT)
    before = titles(page)
    assert len(before) == 20
    search(page, TOO_LONG)
    text = page.get_by_label("Your text")
    expect(page.locator("#text-error")).to_contain_text("At most 100,000 characters are allowed")
    expect(text).to_have_attribute("aria-invalid", "true")
    expect(text).to_have_attribute("aria-errormessage", "text-error")
    expect(page.locator("#problem")).to_be_hidden()
    assert titles(page) == before
    search(page, PASSAGE)
    expect(page.locator(".field-error")).to_have_count(0)
    expect(text).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator(".card")).to_have_count(20)


WRONG_OPTIONS = [
    ("Papers to show", "500", "At most 100 is allowed, got 500."),  # the endpoint's limit
    ("Papers to show", "0", "Give a whole number from 1 to 1000, or nothing."),
    ("Candidates reranked", "2001", "At most 2,000 is allowed, got 2,001."),
    ("Year of your manuscript", "99", "Give a whole number from 1000 to 2999, or nothing."),
    ("Year of your manuscript", "2010.5", "Give a whole number from 1000 to 2999, or nothing."),
    ("Leave out papers by", "x" * 1001, "A value may have at most 1,000 characters."),
    (
        "Leave out papers with these ids",
        " ".join(f"x{number}" for number in range(501)),
        "At most 500 values are allowed, got 501.",
    ),
]


def test_a_wrong_option_is_named_beside_it(page: Any) -> None:
    options = page.get_by_text("Options", exact=True)
    options.click()
    for label, value, sentence in WRONG_OPTIONS:
        option = page.get_by_label(label)
        option.fill(value)
        options.click()  # closed: an error opens them
        search(page, PASSAGE)
        expect(page.locator(".field-error")).to_have_text(sentence)
        expect(option).to_be_focused()
        option.fill("")
    search(page, PASSAGE)
    expect(page.locator(".field-error")).to_have_count(0)
    expect(page.locator(".card")).to_have_count(20)


def test_wrong_years_are_named_beside_the_results(page: Any) -> None:
    search(page, PASSAGE)
    before = titles(page)
    page.get_by_label("to", exact=True).fill("2000")
    expect(page.locator(".card h3").first).not_to_have_text(before[0])
    page.get_by_label("From", exact=True).fill("2005")
    expect(page.locator(".years .field-error")).to_have_text("2005 is later than the last year, 2000.")
    assert titles(page)


def test_a_first_year_after_the_manuscripts_is_named_in_the_words_of_the_page(page: Any) -> None:
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Year of your manuscript").fill("2012")
    search(page, PASSAGE)
    page.get_by_label("From", exact=True).fill("2013")
    expect(page.locator(".years .field-error")).to_have_text(
        "2013 is later than the manuscript's year, 2012; give a last year, or tick “Also papers later than that year”."
    )
    page.get_by_label("Also papers later than that year").check()
    expect(page.locator(".field-error")).to_have_count(0)
    settled(page)
    assert min(years(page)) >= 2013


UNANSWERED = [
    (500, FAILED, "The server could not answer; the line of this request id in its log"),
    (504, str(TooSlowError(20.0)), "The request took longer than 20 s; fewer candidates reranked are faster"),
    (422, "dislike: the corpus has no paper with the id 'x'", "The corpus has no paper with the id 'x'"),
    (
        422,
        "dislike: give a text, or papers in `like`, beside what is disliked",
        "Write a text, or mark papers",
    ),
]


@pytest.mark.parametrize(("status", "sentence", "shown"), UNANSWERED)
def test_what_stands_above_the_cards_has_the_words_of_the_page(
    page: Any, complaints: list[str], status: int, sentence: str, shown: str
) -> None:
    """The endpoint's own body of a refusal, which a healthy endpoint does not give."""
    scope = {"type": "http", "path": "/v1/recommend", "headers": [(b"x-request-id", b"5f0c1a")]}
    field = sentence.partition(": ")[0] if status == 422 else None
    body = bytes(problem(scope, status, sentence, field).body)
    page.route(
        "**/v1/recommend",
        lambda route: route.fulfill(status=status, body=body, content_type="application/problem+json"),
    )
    search(page, PASSAGE)
    box = page.locator("#problem")
    expect(box).to_contain_text(shown)
    text = box.inner_text()
    assert ("Request id: 5f0c1a" in text) == (status >= 500)
    assert not {"year_to", "year_from", "top_k", "rerank", "depth", "request_id"} & set(text.split())
    complaints[:] = [
        text for text in complaints if f"the server responded with a status of {status}" not in text
    ]


def test_what_is_no_field_stands_above_the_cards_and_may_be_tried_again(page: Any) -> None:
    search(page, PASSAGE)
    before = titles(page)
    page.route(
        "**/v1/recommend", lambda route: route.fulfill(status=422, json={"error": "No room.", "field": None})
    )
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator("#problem")).to_contain_text("No room.")
    assert titles(page) == before
    page.unroute("**/v1/recommend")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#problem")).to_be_hidden()
    assert titles(page) == before


def test_a_text_without_words_is_not_asked_for(page: Any) -> None:
    search(page, PASSAGE)
    before = titles(page)
    for text in ["[CIT]", "  \\cite{?}. ", "12 [CIT] 34", "\\section{} [?]"]:
        search(page, text)
        expect(page.locator("#text-error")).to_contain_text("Write a few words of the claim")
        assert titles(page) == before
        search(page, PASSAGE)
        expect(page.locator("#text-error")).to_have_count(0)


def test_an_unknown_text_has_a_warning_in_place_of_cards(page: Any) -> None:
    search(page, "qwzzx blorf [CIT] znork.")
    warning = page.locator("#warning")
    expect(warning).to_contain_text("None of these papers has a word")
    expect(page.locator(".card")).to_have_count(0)
    warning.get_by_role("button", name="Show the papers anyway").click()
    expect(page.locator(".card")).to_have_count(20)
    expect(warning).to_be_visible()
    search(page, PASSAGE)
    expect(warning).to_be_hidden()
    expect(page.locator(".card")).to_have_count(20)


def test_markup_stays_text(page: Any) -> None:
    """A paper of the corpus, and the author, may write what looks like markup."""
    search(page, "<img src=x onerror=document.title='owned'> attention [CIT] <b>bold</b>. More [CIT].")
    expect(page.locator("#quote")).to_contain_text("<b>bold</b>")
    assert page.locator("main img, main b >> text=bold").count() == 0
    assert page.title() != "owned"


def test_one_papers_reference_is_copied(page: Any) -> None:
    search(page, PASSAGE)
    page.get_by_role("button", name="Copy reference of BLEU: a Method").click()
    expect(page.get_by_text("BibTeX copied")).to_be_visible()
    assert "papineni2002bleu" in clipboard(page)


def test_venues_and_orders(page: Any) -> None:
    search(page, PASSAGE)
    best = titles(page)
    page.get_by_label("Order").select_option("Newest first")
    assert years(page) == sorted(years(page), reverse=True)
    page.get_by_label("Order").select_option("Oldest first")
    assert years(page) == sorted(years(page))
    page.get_by_label("Order").select_option("Best first")
    assert titles(page) == best
    page.get_by_label("Venue").select_option("ACL")
    venues = set(page.locator(".card .venue").all_inner_texts())
    assert {venue.strip(" ·") for venue in venues} == {"ACL"}
    expect(page.locator("#summary")).to_contain_text(f"{len(titles(page))} of 20 papers")
    page.get_by_label("Venue").select_option("")
    assert titles(page) == best


def test_a_cards_title_and_places_are_links(page: Any) -> None:
    def answer(route: Any) -> None:
        response = route.fetch()
        body = response.json()
        body["papers"][0] |= {"doi": "10.3115/1073083.1073135", "evidence": None}
        body["papers"][1] |= {"doi": "", "evidence": None}
        route.fulfill(response=response, json=body)

    page.route("**/v1/recommend", answer)
    search(page, PASSAGE)
    first = page.locator(".card").first
    for link in (first.locator("h3 a"), first.get_by_role("link", name="DOI")):
        expect(link).to_have_attribute("href", "https://doi.org/10.3115/1073083.1073135")
        expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(page.locator(".card").nth(1).locator("a")).to_have_count(0)
