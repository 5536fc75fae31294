"""The author's own library: read and kept in the browser alone, and its papers marked among the recommended."""

from __future__ import annotations

import json
from itertools import pairwise
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


def test_endnote_and_lists_are_known_by_their_identifiers_and_titles(page: Any) -> None:
    xml = """<?xml version="1.0"?><xml><records>
<record><titles><title><style>On </style><style face="italic">trees
 &amp; forests</style></title><secondary-title>CoRR</secondary-title></titles>
  <dates><year><style>2017</style></year></dates><electronic-resource-num>10.1000/ABC</electronic-resource-num></record>
<record><titles><title>Short</title></titles>
  <dates><pub-dates><date>May 2017</date></pub-dates><year>2017</year></dates>
  <urls><related-urls><url>https://arxiv.org/abs/1706.03762v5</url></related-urls></urls></record>
<record><periodical><full-title>arXiv:1409.0473</full-title></periodical></record>
<record><record><titles><title>Within another and so of another format</title></titles></record></record>
</records></xml>"""
    lines = (
        "\ufeff# to read\r\n10.1000/ABC\r\nhttps://doi.org/10.18653/v1/P02-1040\n\narXiv:1706.03762v5\n"
        "https://aclanthology.org/2020.acl-main.1/\nP02-1040\nsome words\n"
    )
    assert page.evaluate(NAMES, [[xml, "xml"], [lines, "txt"]]) == [
        [
            ["doi 10.1000/abc", "title on trees forests 2017"],
            ["arxiv 1706.03762", "title short 2017"],
            ["arxiv 1409.0473"],
            [],
        ],
        [
            ["id 10.1000/ABC", "doi 10.1000/abc"],
            [
                "id https://doi.org/10.18653/v1/P02-1040",
                "doi 10.18653/v1/p02-1040",
                "acl p02-1040",
            ],
            ["id arXiv:1706.03762v5", "arxiv 1706.03762"],
            ["id https://aclanthology.org/2020.acl-main.1/", "acl 2020.acl-main.1"],
            ["id P02-1040", "acl p02-1040"],
            [],
        ],
    ]


def test_ids_of_a_corpus_are_known_in_the_forms_in_which_they_are_listed(page: Any) -> None:
    """As ``tests/drafts/test_library.py`` has them for the command."""
    hash_ = "204e3073870fae3d05bcbc2f6a8e263d9b72e776"
    listed = {
        "vaswani2017attention": ["vaswani2017attention"],
        "W2963403868": [
            "W2963403868",
            "https://openalex.org/W2963403868",
            "api.openalex.org/works/w2963403868",
        ],
        "13756489": [
            "13756489",
            "CorpusId:13756489",
            "S2: 13756489",
            "https://api.semanticscholar.org/CorpusID:13756489",
            "https://www.semanticscholar.org/p/13756489?x=1",
        ],
        hash_: [
            hash_,
            f"https://www.semanticscholar.org/paper/Attention-is-All/{hash_.upper()}",
            f"https://api.semanticscholar.org/graph/v1/paper/{hash_}",
        ],
    }
    listed["CorpusId:13756489"] = listed["S2:13756489"] = listed["13756489"]
    found = page.evaluate(
        """async (listed) => {
          const { entriesOf, namesOf } = await import('/static/libraries.js');
          return Object.entries(listed).flatMap(([id, lines]) => {
            const paper = namesOf({ title: "", year: "", ids: [id], id });
            return lines.filter((line) => !namesOf(entriesOf(line, "txt")[0]).some((name) => paper.includes(name)));
          });
        }""",
        listed,
    )
    assert found == []
    others = (
        "vaswani2017\nW29634\nCorpusId:1375648\nhttps://example.org/CorpusID:13756489\nCorpusId:13756489 too"
    )
    names = page.evaluate(NAMES, [[others, "txt"]])[0]
    assert not {name for each in names for name in each} & {f"id {id_}" for id_ in listed}
    bib = "@misc{x, url = {https://api.semanticscholar.org/CorpusID:13756489}, volume = {W2963403868}}"
    assert page.evaluate(NAMES, [[bib, "bib"]]) == [[["id 13756489"]]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("refs.txt", "10.1000/none\nhttps://aclanthology.org/N19-1423/\nnot an id\n"),
        ("ids.txt", "# the corpus' own\ndevlin2019bert\ndevlin2019\n"),
        (
            "refs.xml",
            "<xml><records><record><titles><title>BERT: Pre-training of Deep Bidirectional Transformers for Language "
            "Understanding</title></titles></record><record><accession-num>10.1000/none</accession-num></record></records></xml>",
        ),
    ],
)
def test_papers_of_a_list_and_of_endnote_are_marked(page: Any, name: str, text: str) -> None:
    give(page, name, text)
    expect(page.locator("#library_summary")).to_have_text("My library: 2 papers")
    search(
        page,
        "Pre-training of deep bidirectional transformers\n\nLanguage models are pretrained [CIT] on text.",
    )
    marked = page.locator(".card", has=page.locator(".owned"))
    expect(marked).to_have_count(1)
    expect(marked.locator("h3")).to_contain_text("BERT")


def test_papers_of_the_library_are_marked_and_filtered_until_clear(page: Any) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url} {request.post_data}"))
    search(page, DRAFT)
    expect(page.locator("#owned")).to_be_hidden()
    page.locator("#library_summary").press("Enter")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a library").press("Enter")
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
        (
            "refs.csv",
            "x",
            "The file refs.csv is no library. Give a .bib, .ris, .json (CSL-JSON) or .xml (EndNote)",
        ),
        (
            "refs.txt",
            "On trees\n# 10.1000/1",
            "The file refs.txt has no line with an id alone.",
        ),
        ("refs.xml", "<xml><records>", "The file refs.xml is not valid XML. Export it anew as EndNote XML."),
        ("refs.xml", "<html><record/></html>", "The file refs.xml has no entry with a title or a DOI."),
        (
            "refs.xml",
            '<!DOCTYPE xml [<!ENTITY a "aaaaaaaaaa">'
            + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghijkl"))
            + "]><xml><records><record><titles><title>&l;</title></titles></record></records></xml>",
            "The file refs.xml is not valid XML.",
        ),
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
    page: Any, complaints: list[str], name: str, text: str, says: str
) -> None:
    give(page, "before.bib", BIB)
    expect(page.locator("#library_summary")).to_have_text("My library: 2 papers")
    give(page, name, text)
    expect(page.locator("#library_error")).to_contain_text(says)
    expect(page.locator("#library_summary")).to_have_text("My library: 2 papers")
    if (
        name == "refs.xml"
    ):  # Chromium gives its own report of broken XML a style, which the page's policy refuses
        complaints[:] = [text for text in complaints if "inline style" not in text]


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
    expect(page.get_by_role("button", name="Choose a library")).to_be_focused()


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
    give(page, "refs.csv", "x")
    search(page, DRAFT)
    expect(page.locator(".card .owned")).to_have_text("In my library")
    page.evaluate("Promise.all(document.getAnimations().map((animation) => animation.finished))")
    assert page.evaluate(FAINT_TEXTS) == []
    assert page.evaluate(SMALL_TARGETS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
