"""What a notebook shows, read by a parser of HTML."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.pipeline.confidence import percentage
from cocite.pipeline.evidence import CitingPaper, CitingSentence, Evidence, SharedWord
from cocite.pipeline.options import Options, Recommendation
from cocite.pipeline.recommendation_list import Recommendations
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.index import Index

HOSTILE = "</td></table><script>alert('1')</script><img src=x onerror=\"alert(2)\">& {{7*7}}"


class Seen(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def hostile() -> Recommendation:
    evidence = Evidence(
        (SharedWord(HOSTILE, 1.0),),
        (CitingPaper("c", HOSTILE, 2001),),
        (CitingSentence(f"TARGETCIT {HOSTILE}", "s", "T", None),),
    )
    doi = '10.1/"><script>alert(1)</script>'
    return Recommendation(0, HOSTILE, HOSTILE, (HOSTILE,) * 4, 0, HOSTILE, HOSTILE, doi, 0.5, {}, evidence)


def test_no_text_of_a_corpus_becomes_markup() -> None:
    seen = Seen(Recommendations([hostile()])._repr_html_())
    assert set(seen.tags) == {"style", "table", "thead", "tbody", "tr", "th", "td", "br", "small", "a"}
    assert {name for name, _ in seen.attributes} == {"scoped", "class", "href", "rel"}
    assert ("href", "https://doi.org/10.1/%22%3E%3Cscript%3Ealert%281%29%3C/script%3E") in seen.attributes
    assert HOSTILE in seen.texts
    assert f"“[CIT] {HOSTILE}”" in seen.texts
    assert f"cited by {HOSTILE}" in seen.texts


def test_the_probability_has_a_column_where_it_is_known() -> None:
    known = replace(hostile(), confidence=0.42)
    seen = Seen(Recommendations([known, replace(known, confidence=0.002), hostile()])._repr_html_())
    assert "cited" in seen.texts
    assert [text for text in seen.texts if "%" in text] == [percentage(0.42), percentage(0.002)]
    assert seen.tags.count("td") == 15
    plain = Seen(Recommendations([hostile()])._repr_html_())
    assert "cited" not in plain.texts
    assert plain.tags.count("td") == 4


def test_the_table_has_no_colours_of_its_own() -> None:
    page = Recommendations([hostile()])._repr_html_()
    style = page[page.index("<style") : page.index("</style>")]
    assert "color:inherit" in style
    assert "background:transparent" in style
    assert "#" not in style
    assert "rgb" not in style


def test_a_recommender_gives_a_list_that_shows_itself() -> None:
    index = Index.build(starter_corpus(), History.all(starter_corpus()))
    recommender = Recommender.over(None, index)
    query = recommender.query(title="Attention-based machine translation", year=2015)
    papers = recommender.recommend(query, Options(top_k=3))
    assert isinstance(papers, Recommendations)
    seen = Seen(papers._repr_html_())
    assert seen.tags.count("tr") == 4
    assert all(paper.title in seen.texts for paper in papers)
    assert Recommendations()._repr_html_().count("<tr>") == 1
