"""Articles of pages' lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.articles.article import Article, article_of
from cocite.corpus.articles.layout import PDFPages
from cocite.errors import InputError

LINES = [
    "Neural parsing of",
    "many languages",
    "Ann Lee, University of Somewhere",
    "ACL 2020",
    "Abstract",
    "We parse trees of languages whose gram-",
    "mar is not known.",
    "It helps.",
    "Keywords: trees, graphs",
    "1 Introduction",
    "Trees were drawn by hand [1], and they are now drawn by",
    "machines [1, 2]. That helps.",
    "Related Work",
    "Others draw graphs [2].",
    "References",
    "[1] Bo Kim. Drawing trees by hand. 1999.",
    "[2] Cy Wu. Drawing graphs by ma-",
    "chines. 2001.",
    "A Appendix",
    "More is drawn here.",
]


def read(lines: list[str] = LINES, last_year: int = 2030, **pages: object) -> Article:
    return article_of(PDFPages([lines], **pages), last_year=last_year)  # type: ignore[arg-type]


def changed(**others: str) -> list[str]:
    """The lines, some of which are others: ``line_3`` is the fourth."""
    numbers = {int(name.partition("_")[2]): line for name, line in others.items()}
    return [numbers.get(at, line) for at, line in enumerate(LINES)]


def test_an_article() -> None:
    article = read(title="Neural parsing of many languages")
    assert article.title == "Neural parsing of many languages"
    assert article.abstract == "We parse trees of languages whose grammar is not known. It helps."
    assert article.year == 2020
    assert article.references == (
        "Bo Kim. Drawing trees by hand. 1999.",
        "Cy Wu. Drawing graphs by machines. 2001.",
    )
    assert article.paragraphs == (
        (
            "1 Introduction",
            [
                ("Trees were drawn by hand ", ()),
                ("[1]", (0,)),
                (", and they are now drawn by machines ", ()),
                ("[1, 2]", (0, 1)),
                (". That helps.", ()),
            ],
        ),
        ("Related Work", [("Others draw graphs ", ()), ("[2]", (1,)), (".", ())]),
        ("A Appendix", [("More is drawn here.", ())]),
    )


@pytest.mark.parametrize(
    ("named", "largest", "title"),
    [
        ("Neural Parsing of Many Languages", "", "Neural Parsing of Many Languages"),
        ("Microsoft Word - final.doc", "Neuralparsing ofmany languages", "Neural parsing of many languages"),
        ("untitled", "", "Neural parsing of many languages"),
        ("", "Neural", "Neural"),
    ],
)
def test_the_title_is_that_of_the_metadata_if_the_page_has_it(named: str, largest: str, title: str) -> None:
    assert read(named=named, title=largest).title == title


def test_a_first_line_that_is_no_title() -> None:
    assert (
        read(["arXiv:1706.03762v5 [cs.CL] 6 Dec 2017", "1", *LINES]).title
        == "Neural parsing of many languages"
    )
    assert read(["x " * 200]).title == ""


@pytest.mark.parametrize(
    "lines",
    [
        changed(
            line_4="Abstract—We parse trees of languages whose gram-",
            line_5="mar is",
        ),
        changed(line_4="ABSTRACT. We parse", line_5="trees of languages whose grammar is"),
        changed(line_4="Abstract We parse", line_5="trees of languages whose grammar is"),
    ],
)
def test_an_abstract_behind_its_word(lines: list[str]) -> None:
    lines = [line if at != 6 else "not known." for at, line in enumerate(lines)]
    assert read(lines).abstract == "We parse trees of languages whose grammar is not known. It helps."


@pytest.mark.parametrize(
    "line", ["1 Introduction", "INTRODUCTION", "I. INTRODUCTION", "Index Terms—trees", "1. Trees"]
)
def test_the_end_of_the_abstract(line: str) -> None:
    lines = [one for at, one in enumerate(LINES) if at not in (8, 9)]
    assert read([*lines[:8], line, *lines[8:]]).abstract.endswith("not known. It helps.")


def test_an_abstract_that_no_heading_follows() -> None:
    article = read(
        ["A title", "Abstract", "x" * 40, "y" * 40 + " z.", "End.", "We go " + "on " * 12, "and on."]
    )
    assert article.abstract.endswith("z. End.")
    assert article.paragraphs == (("", [("We go " + "on " * 12 + "and on.", ())]),)


def test_no_abstract() -> None:
    article = read([line for at, line in enumerate(LINES) if at not in range(4, 9)])
    assert (article.abstract, article.paragraphs[0][0]) == ("", "1 Introduction")
    article = read(["Abstract meaning of trees", "We go on."], title="Abstract meaning of trees")
    assert article.abstract == ""
    assert article.paragraphs == (("", [("We go on.", ())]),)


@pytest.mark.parametrize(
    ("head", "created", "year"),
    [
        ("ACL 2020", 0, 2020),
        ("ACL 2020", 2019, 2020),
        ("ACL 2020", 2010, 2010),
        ("ACL 2041, since 1998", 0, 1998),
        ("ACL", 2014, 2014),
        ("ACL", 2041, 0),
        ("ACL", 0, 0),
        ("arXiv:2005.14165, 555-2020-1, 12020", 0, 0),
    ],
)
def test_the_year(head: str, created: int, year: int) -> None:
    assert read(changed(line_3=head), created=created).year == year


def test_the_year_of_the_imprint() -> None:
    lines = changed(line_3="ACL")
    assert read([*lines[:12], "Proceedings of ACL, pages 1–9, July 2018.", *lines[12:]]).year == 2018


def test_doi_and_number() -> None:
    stamp = "arXiv:1706.03762v5 [cs.CL] 6 Dec 2017"
    article = read([stamp, "https://doi.org/10.1000/ABC.", *LINES])
    assert (article.doi, article.arxiv, article.year) == ("10.1000/abc", "1706.03762", 2020)
    article = read(["10.1000/a and 10.1000/b", "see arXiv:1706.03762", *LINES])
    assert (article.doi, article.arxiv) == ("", "")


def test_the_corpus_own_words_and_signs_that_are_none_are_left_out() -> None:
    article = read(
        [*LINES[:11], "As TARGETCIT and OTHERCIT and [[CIT:99]] \x07say\ufffd.", "References", "[1] A."]
    )
    text = "".join(piece for _, pieces in article.paragraphs for piece, _ in pieces)
    assert text.endswith("As and and CIT:99]] say .")


def test_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cocite.corpus.articles.article.MAX_LINES", len(LINES) - 1)
    with pytest.raises(InputError, match=r"^the PDF has more than 19 lines \(leave it out"):
        read()


def test_time_is_looked_at() -> None:
    def late() -> None:
        raise InputError("too late")

    with pytest.raises(InputError, match="too late"):
        article_of(PDFPages([LINES]), last_year=2030, check=late)


@given(
    st.lists(
        st.lists(st.sampled_from([*LINES, "[3]", "Lee (1999)", "x" * 90]), max_size=12),
        min_size=1,
        max_size=4,
    )
)
def test_any_lines_are_an_article(pages: list[list[str]]) -> None:
    if not any(pages):
        return
    article = article_of(PDFPages(pages), last_year=2030)
    assert all(
        0 <= at < len(article.references) for _, own in article.paragraphs for _, cited in own for at in cited
    )
