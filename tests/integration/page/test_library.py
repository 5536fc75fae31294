"""The author's own library: read and kept in the browser alone, and its papers marked among the recommended."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.page import DRAFT, FAINT_TEXTS, SMALL_TARGETS, gap_button, give, search, settled

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
BIB = r"""@comment{kept, title = {Not a paper}}
@article{lda, title = {{Latent} Dirichlet {A}llocation}, year = 2003}
@misc{other, title = "Gr{\"u}{\ss}e, a paper that nobody recommends here", journal = {CoRR}, volume = {abs/1234.56789}}
"""
NAMES = """async (entries) => {
  const { entriesOf, namesOf } = await import('/static/libraries.js');
  return entries.map(([text, kind]) => entriesOf(text, kind).map(namesOf));
}"""


def test_entries_of_each_form_are_known_by_their_identifiers_and_titles(page: Any) -> None:
    bib = (
        "@string{x = {y}}\n@Article{a, title = {A {\\'E}tude of Trees in \\emph{Forests} and Gr{\\\"u}n},\n"
        '  doi = "https://doi.org/10.18653/v1/P02-1040", year = {2002}, abstract = {so, @misc{in, title = x}}}\n'
        "@misc{b, title=Short, date={2017-05}, eprint = 1706.03762v5}\n@misc{c, volume = {abs/1409.0473}}\n"
        "@misc{d, title = {open"
    )
    strings = (
        '@string{ACL = "Proceedings of " # {ACL}}\n@STRING(anth = {https://aclanthology.org/})\n'
        "@misc{e, title = {Part } # one # { of two}, journal = acl, url = anth # {P02-1040}}\n"
        '@string{one = {One}}\n@misc{f, title = {Part } # one # " of two", subtitle = {and others}, date = {2017}}\n'
    )
    ris = "TY  - JOUR\r\nTI  - Short\r\nPY  - 2017/05\r\nDO  - 10.1000/ABC\r\nER  - \r\nTY  - JOUR\r\nTI  - cut off"
    csl = [
        {
            "title": "Short",
            "issued": {"date-parts": [[2017]]},
            "URL": "https://aclanthology.org/P02-1040.pdf",
        },
        7,
    ]
    found = page.evaluate(
        NAMES, [[bib, "bib"], [strings, "bib"], [ris, "ris"], [json.dumps(csl), "json"], ["7", "json"]]
    )
    assert found == [
        [
            ["doi 10.18653/v1/p02-1040", "acl p02-1040", "title a etude of trees in forests and grun"],
            ["arxiv 1706.03762", "title short 2017"],
            ["arxiv 1409.0473"],
            [],
        ],
        [["acl p02-1040"], ["title part one of two and others"]],
        [["doi 10.1000/abc", "title short 2017"]],
        [["acl p02-1040", "title short 2017"]],
        [],
    ]


def test_papers_of_the_library_are_marked_and_filtered_until_clear(page: Any) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url} {request.post_data}"))
    search(page, DRAFT)
    expect(page.locator("#owned")).to_be_hidden()
    page.locator("#library_summary").press("Enter")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a .bib, .ris or .json").press("Enter")
    chooser.value.set_files({"name": "refs.bib", "mimeType": "text/plain", "buffer": BIB.encode()})
    expect(page.locator("#library_summary")).to_have_text("My library: 2 papers")
    marked = page.locator(".card", has=page.locator(".owned"))
    expect(marked).to_have_count(1)
    expect(marked.locator("h3")).to_have_text("Latent Dirichlet Allocation")
    expect(marked.get_by_text("Not in my library")).to_have_count(0)
    expect(page.get_by_text("Not in my library", exact=True)).to_have_count(19)
    expect(page.locator("#summary")).to_contain_text("20 papers (1 in my library) for gap 1 of 2")
    page.get_by_label("Library", exact=True).select_option("New to me")
    expect(page.locator(".card[data-id]")).to_have_count(19)
    page.get_by_label("Library", exact=True).select_option("In my library")
    expect(page.locator(".card h3")).to_have_text(["Latent Dirichlet Allocation"])
    page.get_by_label("Library", exact=True).select_option("All papers")
    page.reload()
    expect(marked).to_have_count(1)
    gap_button(page, 2).click()
    settled(page)
    assert not any("nobody recommends" in line for line in sent)
    page.get_by_role("button", name="Clear", exact=True).click()
    assert page.evaluate("localStorage.getItem('cocite-library')") is None
    expect(page.locator("#library_summary")).to_have_text("My library")
    search(page, DRAFT)
    expect(marked).to_have_count(0)
    expect(page.locator(".lacked")).to_have_count(0)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("refs.txt", "x", "The file refs.txt is no library. Give a .bib, .ris or .json (CSL-JSON) file."),
        ("refs.json", "{", "The file refs.json is not valid JSON. Export it anew as CSL-JSON."),
        ("refs.bib", "nothing", "The file refs.bib has no entry with a title or a DOI."),
        ("refs.ris", "a\0b", "The file refs.ris holds no text."),
        (
            "refs.bib",
            "x" * 20_000_001,
            "The file refs.bib has more than 20 MB. Export a part of your library.",
        ),
        ("refs.bib", "@misc{a,title=b,year=1}\n" * 50_001, "The file refs.bib has more than 50,000 papers."),
    ],
)
def test_a_library_that_cannot_be_read_is_refused_and_the_one_before_stays(
    page: Any, name: str, text: str, says: str
) -> None:
    give(page, "before.bib", BIB)
    expect(page.locator("#library_summary")).to_have_text("My library: 2 papers")
    give(page, name, text)
    expect(page.locator("#library_error")).to_contain_text(says)
    expect(page.locator("#library_summary")).to_have_text("My library: 2 papers")


def test_a_library_that_is_too_large_to_keep_serves_this_visit(page: Any) -> None:
    titles = (
        f"A paper with the number {number} and a title so long that it is kept by it"
        for number in range(30_000)
    )
    give(page, "large.bib", "\n".join(f"@misc{{a, title = {{{title}}}}}" for title in titles))
    expect(page.locator("#toast")).to_have_text(
        "My library: 30,000 papers, too many to keep after this visit"
    )
    page.get_by_text("My library: 30,000 papers", exact=True).first.click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.locator("#library_summary")).to_have_text("My library")
    expect(page.get_by_role("button", name="Choose a .bib, .ris or .json")).to_be_focused()


def test_what_is_damaged_in_the_storage_is_no_library(page: Any) -> None:
    for value in ("{", "[]", "7", '{"file": 1}', '{"file": "a", "count": 1, "names": 5}'):
        page.evaluate("value => localStorage.setItem('cocite-library', value)", value)
        page.reload()
        expect(page.locator("#corpus")).to_contain_text("papers")
        expect(page.locator("#library_summary")).to_have_text("My library")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_library_can_be_read_and_touched(page: Any, theme: str) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    give(page, "refs.bib", BIB)
    give(page, "refs.txt", "x")
    search(page, DRAFT)
    expect(page.locator(".card .owned")).to_have_text("In my library")
    page.evaluate("Promise.all(document.getAnimations().map((animation) => animation.finished))")
    assert page.evaluate(FAINT_TEXTS) == []
    assert page.evaluate(SMALL_TARGETS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
