"""RIS that a public parser reads back, whatever the corpus holds."""

from __future__ import annotations

import re

import rispy
from helpers.odd_papers import of_real_shape
from helpers.synthetic import SyntheticCorpora
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.bibtex import citation_keys, is_proceedings
from cocite.corpus.names import split_name
from cocite.corpus.records import PaperRecord
from cocite.corpus.ris import entries


def test_an_entry() -> None:
    paper = PaperRecord(
        "P03-1021",
        "Minimum Error\nRate Training",
        year=2003,
        venue="ACL",
        authors=("Franz Josef Och", "Google, Inc."),
        keyphrases=("MERT", "tuning"),
        doi="10.3115/1075096.1075117",
    )
    assert entries([paper, PaperRecord("1706.03762", "Attention")]) == (
        "TY  - CPAPER\n"
        "ID  - och2003minimum\n"
        "TI  - Minimum Error Rate Training\n"
        "AU  - Och, Franz Josef\n"
        "AU  - Google Inc.\n"
        "PY  - 2003\n"
        "T2  - ACL\n"
        "DO  - 10.3115/1075096.1075117\n"
        "KW  - MERT\n"
        "KW  - tuning\n"
        "ER  - \n"
        "\n"
        "TY  - GEN\n"
        "ID  - anonattention\n"
        "TI  - Attention\n"
        "UR  - https://arxiv.org/abs/1706.03762\n"
        "ER  - \n"
    )


def _spaced(text: str) -> str:
    return " ".join(text.split())


def check(papers: list[PaperRecord]) -> None:
    """A public parser reads what was written."""
    found = rispy.loads(entries(papers))
    assert [one["id"] for one in found] == citation_keys(papers)
    for one, paper in zip(found, papers, strict=True):
        assert one.get("title", "") == _spaced(paper.title)
        assert one.get("year", "") == (str(paper.year) if paper.year else "")
        assert one.get("secondary_title", "") == _spaced(paper.venue)
        assert one.get("doi", "") == _spaced(paper.doi)
        assert one.get("keywords", []) == [_spaced(phrase) for phrase in paper.keyphrases]
        wanted = [
            name.last_first if (name := split_name(author)) else _spaced(author.replace(",", " "))
            for author in map(_spaced, paper.authors)
        ]
        assert one.get("authors", []) == wanted
        kind = ("CPAPER" if is_proceedings(paper.venue) else "JOUR") if paper.venue else "GEN"
        assert one["type_of_reference"] == kind
        assert "unknown_tag" not in one


def test_a_thousand_entries_of_real_shape_come_back() -> None:
    check(of_real_shape(1000))


def test_a_thousand_synthetic_papers_come_back(synthetic: SyntheticCorpora) -> None:
    corpus = synthetic(1000, seed=4)
    check(corpus.papers_at(range(1000)))


@given(
    st.lists(
        st.builds(
            PaperRecord,
            id=st.just("x"),
            title=st.text(max_size=40),
            venue=st.text(max_size=20),
            authors=st.lists(st.text(max_size=20), max_size=3).map(tuple),
            keyphrases=st.lists(st.text(max_size=20), max_size=3).map(tuple),
            doi=st.text(max_size=20),
        ),
        max_size=4,
    )
)
def test_no_text_ends_a_line_or_an_entry(papers: list[PaperRecord]) -> None:
    text = entries(papers)
    assert len(rispy.loads(text)) == len(papers)
    # Whatever a reader takes for the end of a line, each line has a tag.
    assert all(re.match(r"[A-Z][A-Z0-9]  - ", line) for line in text.splitlines() if line)
