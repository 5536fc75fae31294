"""What a card says of the papers and sentences that speak for its paper: who wrote them, when, and where they are."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.page import PASSAGE, search

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect


def paper(id_: str, **facts: Any) -> dict[str, Any]:
    return {"id": id_, "title": f"Paper {id_}", "year": None, "authors": [], "venue": "", "doi": "", **facts}


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (
            {"authors": ["Ada Lee", "Bo Kim", "Cy Ray"], "year": 2017, "venue": "ACL"},
            "Ada Lee et al., 2017, ACL",
        ),
        ({"authors": ["Ada Lee", "Bo Kim"], "year": 2017}, "Ada Lee and Bo Kim, 2017"),
        ({"authors": ["Ada Lee"], "venue": "ACL"}, "Ada Lee, ACL"),
        ({}, ""),
    ],
)
def test_a_byline_has_what_is_known(page: Any, facts: dict[str, Any], says: str) -> None:
    byline = "async (paper) => (await import('/static/evidence.js')).byline(paper)"
    assert page.evaluate(byline, paper("a", **facts)) == says


def test_evidence_names_its_authors_and_has_the_links_of_a_card(page: Any) -> None:
    facts = {"authors": ["Ada Lee", "Bo Kim", "Cy Ray"], "year": 2019, "venue": "NAACL"}
    evidence = {
        "shared_words": [],
        "cited_by": [paper("P", doi="10.18653/v1/N19-1423", **facts), paper("Q", doi="<b>")],
        "sentences": [paper("1706.03762", **facts) | {"sentence": "We use TARGETCIT."}],
        "seeds": [paper("CorpusId:7", authors=["Di Wu"])],
    }

    def answer(route: Any) -> None:
        response = route.fetch()
        body = response.json()
        body["papers"][0] |= {"doi": "", "evidence": evidence}
        route.fulfill(response=response, json=body)

    page.route("**/v1/recommend", answer)
    search(page, PASSAGE)
    first = page.locator(".card").first
    quoted = first.locator("figure.sentence")
    expect(quoted.locator("cite .by")).to_have_text("Ada Lee et al., 2019, NAACL")
    expect(quoted.get_by_role("link", name="arXiv: Paper 1706.03762")).to_have_attribute(
        "href", "https://arxiv.org/abs/1706.03762"
    )
    citing = first.locator(".neighbours li").filter(has_text="Paper P")
    expect(citing.locator(".by")).to_have_text("Ada Lee et al., 2019, NAACL")
    for name, address in (
        ("DOI: Paper P", "https://doi.org/10.18653/v1/N19-1423"),
        ("ACL Anthology: Paper P", "https://aclanthology.org/N19-1423"),
        ("Semantic Scholar: Paper P", "https://api.semanticscholar.org/DOI:10.18653/v1/N19-1423"),
    ):
        link = citing.get_by_role("link", name=name)
        expect(link).to_have_attribute("href", address)
        expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(first.get_by_role("link", name="Semantic Scholar: Paper CorpusId:7")).to_be_visible()
    expect(first.get_by_role("link", name="DOI: Paper Q")).to_have_attribute(
        "href", "https://doi.org/%3Cb%3E"
    )


def test_the_endpoints_own_evidence_has_authors(page: Any) -> None:
    search(page, PASSAGE)
    bylines = page.locator(".card .source .by").all_inner_texts()
    assert bylines
    assert any("et al." in line for line in bylines)
