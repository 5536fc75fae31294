"""The report about a draft."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

from cocite.corpus.records import PaperRecord
from cocite.drafts.advice import CitedPaper, Companion, GapAdvice
from cocite.drafts.draft import Draft
from cocite.drafts.reading import read_text
from cocite.drafts.reference_styles import FormattedReference
from cocite.drafts.report import NONE_SUGGESTED, SUGGESTED, Report, printable, reasons
from cocite.drafts.suggestions import SuggestedPapers
from cocite.pipeline.evidence import CitingPaper, CitingSentence, Evidence, SharedWord
from cocite.pipeline.options import Recommendation
from cocite.systems.citing_sentences.quality import Quality

EVIDENCE = Evidence(
    (SharedWord("trees", 3.0),),
    (CitingPaper("c", "A survey", 2001),),
    (CitingSentence("Trees TARGETCIT grow, OTHERCIT not.", "c", "A survey", 2001),),
)
PAPER = Recommendation(
    3, "p", "Trees & <b>*leaves*</b>", ("Ann Lee",), 1999, "ACL", "", "10.1/a", 0.5, {}, EVIDENCE
)


def report(draft: Draft | None = None, library: frozenset[str] | None = None) -> Report:
    draft = draft or read_text("Parsing\n\nTrees [CIT]. <script>Graphs</script> [?].", "text")
    return Report(
        draft,
        [
            GapAdvice(1, draft.gaps[0], (PAPER,)),
            GapAdvice(2, draft.gaps[1], (), "no paper of the index fits"),
        ],
        [CitedPaper("lee", PaperRecord("q", "Found"), "found"), CitedPaper("kim", None, "Lost")],
        [Companion(PaperRecord("r", "Roots", year=1998), 4)],
        library,
    )


def test_values_are_json() -> None:
    values = json.loads(json.dumps(report().values()))
    assert values["gaps"][0]["papers"][0]["evidence"] == {
        "shared_words": ["trees"],
        "cited_by": ["c"],
        "seeds": [],
        "sentences": [{"text": "Trees TARGETCIT grow, OTHERCIT not.", "id": "c"}],
    }
    assert values["gaps"][1]["note"] == "no paper of the index fits"
    assert [one["paper"] for one in values["cited"]] == ["q", None]
    assert values["usually_cited_together"][0]["papers_citing_both"] == 4


def test_markdown_shows_titles_as_they_are() -> None:
    text = report().markdown()
    assert r"1. [**Trees & \<b\>\*leaves\*\</b\>**](https://doi.org/10.1/a) Ann Lee ACL 1999" in text
    assert "- [x] lee: Found" in text
    assert "- [ ] kim: Lost (not in the corpus)" in text
    assert "**Roots** 1998: 4 papers cite it with papers that you cite" in text


def test_what_the_author_has_is_marked_in_every_form() -> None:
    for owned in ({"p"}, {"r"}, {"p", "r"}, set[str]()):
        made = report(library=frozenset(owned))
        values = made.values()
        found = {one["id"]: one["in_library"] for one in values["gaps"][0]["papers"]}
        found |= {one["id"]: one["in_library"] for one in values["usually_cited_together"]}
        assert found == {"p": "p" in owned, "r": "r" in owned}
        for text in (made.markdown(), made.html()):
            assert text.count("(in my library)") == len(owned)
            assert ("Ann Lee ACL 1999 (in my library)" in text) == ("p" in owned)
            assert ("1998 (in my library): 4 papers" in text) == ("r" in owned)
            lacking = 2 - len(owned)
            assert f"Of 2 papers here, {len(owned)} are in my library, and it lacks {lacking}." in text
        assert values["library"] == {"in_library": len(owned), "lacking": lacking}
    for text in (report().markdown(), report().html()):
        assert "my library" not in text
    assert "library" not in report().values()


def test_a_style_has_the_place_of_title_and_byline_in_every_form() -> None:
    reference = FormattedReference("Lee. Trees & <b>*leaves*</b>. \ue000ACL\ue001.")
    made = replace(report(library=frozenset({"p"})), references={"p": reference})
    assert [paper.id for paper in made.papers()] == ["p", "r"]
    assert (
        r"1. [Lee. Trees & \<b\>\*leaves\*\</b\>. *ACL*.](https://doi.org/10.1/a) (in my" in made.markdown()
    )
    linked = "Lee. Trees &amp; &lt;b&gt;*leaves*&lt;/b&gt;. <i>ACL</i>.</a> (in my library)"
    assert f'<li><a href="https://doi.org/10.1/a" rel="noreferrer">{linked}' in made.html()
    assert made.line(PAPER) == "Lee. Trees & <b>*leaves*</b>. ACL."
    values = made.values()
    assert values["gaps"][0]["papers"][0]["reference"] == "Lee. Trees & <b>*leaves*</b>. ACL."
    assert "reference" not in values["usually_cited_together"][0]
    assert "**Roots** 1998: 4 papers" in made.markdown()


def test_the_probability_stands_behind_a_paper_in_every_form_where_it_is_known() -> None:
    draft = read_text("Trees [CIT].", "text")
    known = Report(draft, [GapAdvice(1, draft.gaps[0], (replace(PAPER, confidence=0.42),))], [], [])
    assert "ACL 1999, ~42 %\n" in known.markdown()
    assert "ACL 1999, ~42 %" in known.html()
    assert known.values()["gaps"][0]["papers"][0]["confidence"] == 0.42
    assert "%" not in report().markdown()
    assert report().values()["gaps"][0]["papers"][0]["confidence"] is None


def test_suggestions_are_in_every_form() -> None:
    plain = report()
    gap = replace(plain.gaps[0].gap, sentence="Roots <i>grow</i>.")
    made = replace(plain, suggestions=[SuggestedPapers(GapAdvice(1, gap, (PAPER,)), 0.625)])
    assert "suggestions" not in plain.values()
    [values] = json.loads(json.dumps(made.values()))["suggestions"]
    assert (values["suggestion"], values["probability"]) == (1, 0.625)
    assert [paper["id"] for paper in values["papers"]] == ["p"]
    assert values["line"] == gap.place.line
    for text, quote in ((made.markdown(), r"> Roots \<i\>grow\</i\>."), (made.html(), "Roots &lt;i&gt;grow")):
        assert SUGGESTED in text
        assert "Suggestion 1, line 3, probability 0.6" in text
        assert quote in text
    for text in (plain.markdown(), plain.html()):
        assert SUGGESTED not in text
    none = replace(plain, suggestions=[])
    assert none.values()["suggestions"] == []
    for text in (none.markdown(), none.html()):
        assert NONE_SUGGESTED in text


def test_how_often_suggestions_are_right_is_told_in_every_form() -> None:
    plain = report()
    asked = replace(plain, suggestions=[], suggestion_quality=Quality(0.47, 0.532))
    told = "In papers that the model has not seen, 47 of 100 sentences that it picks cite; it picks 53 of 100 that"
    assert f"## {SUGGESTED}\n\n{told}" in asked.markdown()
    assert f"<h2>{SUGGESTED}</h2>\n<p>{told}" in asked.html()
    assert json.loads(json.dumps(asked.values()))["suggestion_quality"] == {
        "precision": 0.47,
        "recall": 0.532,
    }
    unmeasured, unasked = replace(asked, suggestion_quality=None), replace(asked, suggestions=None)
    assert unmeasured.values()["suggestion_quality"] is None
    assert "suggestion_quality" not in unasked.values()
    for one in (unmeasured, unasked):
        assert "of 100" not in one.markdown() + one.html()


def test_html_escapes_what_drafts_and_papers_hold() -> None:
    page = report().html()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "Trees &amp; &lt;b&gt;*leaves*&lt;/b&gt;" in page


class Loaded(HTMLParser):
    """The links of a page, and what a browser would load for it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[tuple[str | None, str | None]] = []
        self.loaded: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        if tag == "a":
            self.links.append((held["href"], held.get("rel")))
        elif tag in {"link", "script", "img", "iframe", "base"} or {"src", "href", "srcset"} & held.keys():
            self.loaded.append((tag, held))


def test_titles_lead_to_the_papers_and_nothing_is_loaded() -> None:
    hostile = replace(PAPER, id="h", doi='10.1/"><script src=//x>)')
    first = replace(report().gaps[0], papers=(PAPER, hostile))
    acl = CitedPaper("pap", PaperRecord("P02-1040", "BLEU *2*"), "BLEU")
    preprint = Companion(PaperRecord("arXiv:1706.03762", "Attention"), 2)
    made = replace(report(), gaps=[first], cited=[acl, *report().cited], companions=[preprint])
    page = Loaded(made.html())
    addresses = [
        "https://doi.org/10.1/a",
        "https://doi.org/10.1/%22%3E%3Cscript%20src%3D//x%3E%29",
        "https://aclanthology.org/P02-1040",
        "https://arxiv.org/abs/1706.03762",
    ]
    assert page.links == [(address, "noreferrer") for address in addresses]
    assert page.loaded == []
    assert "url(" not in made.html()
    assert "@import" not in made.html()
    assert [one for one in addresses if f"]({one})" in made.markdown()] == addresses
    assert r"- [x] pap: [BLEU \*2\*](https://aclanthology.org/P02-1040)" in made.markdown()
    assert "- [x] lee: Found\n" in made.markdown()


def test_reasons_and_control_characters() -> None:
    assert reasons(EVIDENCE) == [
        "cited for: “Trees [this paper] grow, [...] not.” (A survey, 2001)",
        "cited by papers like yours: A survey",
        "shares: trees",
    ]
    assert printable("a\x1b]0;x\x07\x9bb\tc\n") == "a]0;xb\tc\n"
