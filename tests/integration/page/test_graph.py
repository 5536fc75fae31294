"""How the papers of the list are linked: the picture, the table, and the way to the cards."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pytest
from helpers.endpoint import Running
from helpers.page import DRAFT, FAINT_TEXTS, NAMELESS, PASSAGE, SMALL_TARGETS, search, settled, titles, use

from cocite.corpus.store import Corpus
from cocite_serve.http.papers import Papers

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
LAYOUT = """async ([years, links, width]) => {
  const { layout } = await import('/static/graph_layout.js');
  return layout(years, links, width);
}"""
BINS = """async ([years, most]) => {
  const { binsOf } = await import('/static/graph_layout.js');
  return binsOf(years, most).map(({ from, to, papers }) => [from, to, papers]);
}"""


def opened(page: Any, text: str = DRAFT) -> Any:
    """The box of the graph, open over the answer to a text."""
    search(page, text)
    page.get_by_text("How these papers are linked").click()
    expect(page.locator("#graph_picture .node").first).to_be_visible()
    return page.locator("#graph_box")


def shown_ids(page: Any) -> list[str]:
    return page.locator(".card[data-id]").evaluate_all("cards => cards.map(card => card.dataset.id)")  # type: ignore[no-any-return]


def corpus_of(endpoint: Running) -> Corpus:
    return Papers.open(endpoint.index, "000001").corpus


def counted(corpus: Corpus, ids: list[str]) -> tuple[list[list[int]], dict[tuple[int, int], int]]:
    """For each paper the places of those that it cites, and how often pairs are cited together."""
    cites = [set(corpus.ids(corpus.cites[row])) for row in range(len(corpus))]
    of = [sorted(at for at, other in enumerate(ids) if other in cites[corpus.row(id_)]) for id_ in ids]
    pairs = {
        (one, other): sum({ids[one], ids[other]} <= cited for cited in cites)
        for one, other in combinations(range(len(ids)), 2)
    }
    return of, {pair: count for pair, count in pairs.items() if count}


def test_nothing_is_asked_until_the_box_is_opened_and_it_stays_open(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    search(page, DRAFT)
    assert not any(url.endswith("/v1/links") for url in asked)
    page.get_by_text("How these papers are linked").click()
    expect(page.locator("#graph_picture .node")).to_have_count(20)
    page.reload()
    expect(page.locator("#graph_picture .node")).to_have_count(20)
    page.get_by_role("button", name="Show as a table").click()
    page.reload()
    expect(page.locator("#graph_table tbody tr")).to_have_count(20)


def test_the_table_has_the_links_of_the_corpus(page: Any, endpoint: Running) -> None:
    opened(page)
    ids = shown_ids(page)
    cites, together = counted(corpus_of(endpoint), ids)
    drawn = page.locator("#graph_picture path.cites").evaluate_all(
        "paths => paths.map(path => path.dataset.ends)"
    )
    assert sorted(drawn) == sorted(f"{one} {other}" for one, cited in enumerate(cites) for other in cited)
    page.get_by_role("button", name="Show as a table").click()
    table = page.get_by_role("table", name=re.compile("The numbers are the papers' ranks"))
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(len(ids))
    heads = table.get_by_role("columnheader").all_inner_texts()
    assert heads == ["Rank", "Paper", "Cites", "Cited by", "Cited together with"]
    for place in range(len(ids)):
        cells = [text.replace("\u00a0", " ") for text in rows.nth(place).locator("td").all_inner_texts()]
        by = [one for one, cited in enumerate(cites) if place in cited]
        pairs = {
            one + other - place: count for (one, other), count in together.items() if place in (one, other)
        }
        ranked = sorted(pairs, key=lambda at: (-pairs[at], at))
        assert cells[:3] == [
            str(place + 1),
            *(", ".join(str(at + 1) for at in some) or "–" for some in (cites[place], by)),
        ]
        found = re.findall(r"(\d+) \((\d+)\)", cells[3])
        assert {int(rank) - 1: int(count) for rank, count in found} == pairs
        assert [int(count) for _, count in found] == [pairs[at] for at in ranked]


def test_a_click_and_a_key_go_to_the_card(page: Any) -> None:
    opened(page)
    nodes = page.locator("#graph_picture .node")
    nodes.nth(4).click()
    expect(page.locator(".card[data-id]").nth(4)).to_be_focused()
    expect(page.locator(".card[data-id]").nth(4)).to_be_in_viewport()
    page.get_by_role("button", name="Show as a table").focus()
    page.keyboard.press("Tab")
    expect(nodes.first).to_be_focused()
    for key, place in (
        ("ArrowRight", 1),
        ("ArrowDown", 2),
        ("ArrowLeft", 1),
        ("End", 19),
        ("ArrowRight", 0),
        ("ArrowUp", 19),
    ):
        page.keyboard.press(key)
        expect(nodes.nth(place)).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#graph_picture')") is None, "one stop for Tab"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".card[data-id]").nth(1)).to_be_focused()
    page.get_by_role("button", name="Show as a table").press("Enter")
    page.locator("#graph_table").get_by_role("button", name=titles(page)[6]).press("Enter")
    expect(page.locator(".card[data-id]").nth(6)).to_be_focused()


def test_a_paper_in_focus_shows_its_links_alone_and_says_what_they_are(page: Any) -> None:
    opened(page)
    node = page.locator("#graph_picture .node").first
    name = node.get_attribute("aria-label")
    assert name.startswith("1. ")
    assert f", {titles(page)[0]} (" in name
    assert re.search(r"cite|linked", name)
    node.focus()
    # The line has the title alone: the surname stands beside the circle.
    expect(page.locator("#graph_line")).to_have_text(f"{re.sub('^1[.] [^,]+, ', '1. ', name)}.")
    on = page.locator("#graph_picture .link.on").evaluate_all(
        "all => all.map(one => one.dataset.ends.split(' '))"
    )
    assert on
    assert all("0" in ends for ends in on)
    node.blur()
    expect(page.locator("#graph_picture .link.on")).to_have_count(0)


def test_the_graph_follows_the_list(page: Any) -> None:
    opened(page)
    page.get_by_label("From", exact=True).fill("2017")
    expect(page.locator("#bars_first")).to_have_text(re.compile("20(1[7-9]|2.)"))
    settled(page)
    first = page.locator("#graph_picture .node").first
    expect(first).to_have_attribute("aria-label", re.compile(re.escape(titles(page)[0])))
    use(page, 0)
    expect(first).to_have_class(re.compile("picked"))
    page.get_by_label("Venue", exact=True).select_option(index=1)
    count = page.locator(".card[data-id]").count()
    assert 1 < count < 20
    expect(page.locator("#graph_picture .node")).to_have_count(count)
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator("#graph_box")).to_be_hidden()


def test_what_the_server_refuses_is_said_in_the_box(page: Any) -> None:
    problem = {"error": "Too many requests are waiting.", "field": None}
    page.route("**/v1/links", lambda route: route.fulfill(status=422, json=problem))
    search(page, DRAFT)
    page.get_by_text("How these papers are linked").click()
    expect(page.locator("#graph_says")).to_have_text("Too many requests are waiting.")
    expect(page.locator("#graph_picture .node")).to_have_count(0)
    expect(page.locator(".card[data-id]")).to_have_count(20)


def test_the_same_papers_have_the_same_places_and_none_overlap(page: Any) -> None:
    years = [
        2019,
        2017,
        2018,
        2013,
        None,
        2014,
        2019,
        2019,
        2019,
        2019,
        2002,
        1998,
        2019,
        2015,
        2016,
        2019,
        2020,
        2021,
        2019,
        1975,
    ]
    links = [[0, 1, 1], [2, 1, 1], [5, 3, 0.4], [6, 0, 1], [7, 0, 1], [12, 8, 0.2], [19, 10, 1]]
    for width in (300, 620, 900):
        one, again = (page.evaluate(LAYOUT, [years, links, width]) for _ in range(2))
        assert one == again
        places = [(place["x"], place["y"]) for place in one["places"]]
        assert len(places) == len(years)
        for (x, y), (other_x, other_y) in combinations(places, 2):
            assert abs(x - other_x) >= 44 or abs(y - other_y) >= 44, width
        assert all(22 <= x <= width - 22 and 0 < y < one["height"] for x, y in places)
        known = [(year, x) for year, (x, _) in zip(years, places, strict=True) if year]
        bins = {paper: at for at, span in enumerate(one["bins"]) for paper in span["papers"]}
        assert all(
            bins[a] <= bins[b]
            for a, b in combinations(
                sorted((at for at, year in enumerate(years) if year), key=lambda at: years[at] or 0), 2
            )
        )
        assert max(x for year, x in known if year < 1999) < min(x for year, x in known if year > 2019)


def test_years_share_a_column_where_there_are_too_many(page: Any) -> None:
    assert page.evaluate(BINS, [[2003, 2001, 2003, None], 9]) == [
        [None, None, [3]],
        [2001, 2001, [1]],
        [2003, 2003, [0, 2]],
    ]
    assert page.evaluate(BINS, [[2000, 2001, 2002, 2010, 2010], 3]) == [
        [2000, 2001, [0, 1]],
        [2002, 2002, [2]],
        [2010, 2010, [3, 4]],
    ]
    assert page.evaluate(BINS, [[2000, None, 2002], 1]) == [[None, None, [1]], [2000, 2002, [0, 2]]]
    assert page.evaluate(BINS, [[], 4]) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_everybody_can_use_it(page: Any, theme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    opened(page)
    use(page, 0)
    small = SMALL_TARGETS.replace('"button,', '"[role=button], button,')
    for _ in range(2):
        assert page.evaluate(FAINT_TEXTS) == []
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if width == 360:
            assert page.evaluate(small) == []
        page.get_by_role("button", name="Show as a table").or_(
            page.get_by_role("button", name="Show as a picture")
        ).click()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))


def test_paper_has_the_picture_where_the_box_is_open(page: Any) -> None:
    opened(page, PASSAGE)
    page.emulate_media(media="print")
    expect(page.locator("#graph_picture svg")).to_be_visible()
    expect(page.locator("#graph_form")).to_be_hidden()
    page.emulate_media(media="screen")
    page.get_by_text("How these papers are linked").click()
    page.emulate_media(media="print")
    expect(page.locator("#graph_box")).to_be_hidden()
