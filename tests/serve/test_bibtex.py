"""BibTeX that a parser reads back, whatever the corpus holds."""

from __future__ import annotations

import bibtexparser
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.records import PaperRecord
from cocite_serve.bibtex import citation_key, entries, entry

OCH = PaperRecord(
    "P03-1021", "Minimum Error Rate Training", year=2003, venue="ACL", authors=("Franz Josef Och",)
)


def test_an_entry() -> None:
    assert entries([OCH]) == (
        "@inproceedings{och2003minimum,\n"
        "  title = {Minimum Error Rate Training},\n"
        "  author = {Franz Josef Och},\n"
        "  booktitle = {ACL},\n"
        "  year = {2003}\n"
        "}\n"
    )


def test_kind_follows_the_venue() -> None:
    def kind(venue: str) -> str:
        return entry(PaperRecord("x", "T", venue=venue), "k").partition("{")[0]

    assert kind("Computational Linguistics") == "@article"
    assert kind("Proceedings of the Fourth Workshop") == "@inproceedings"
    assert kind("TACL") == "@article"
    assert kind("NeurIPS") == "@inproceedings"
    assert kind("") == "@misc"


def test_keys_differ() -> None:
    found = bibtexparser.parse_string(entries([OCH, OCH, OCH]))
    assert [one.key for one in found.entries] == ["och2003minimum", "och2003minimumb", "och2003minimumc"]


def test_keys_are_ascii_and_never_empty() -> None:
    assert (
        citation_key(PaperRecord("x", "The Ångström", year=1999, authors=("Müller, Jörg",)))
        == "muller1999angstrom"
    )
    assert citation_key(PaperRecord("x", "", authors=("",))) == "anonpaper"


def test_capitals_inside_words_are_kept_and_special_signs_escaped() -> None:
    text = entry(PaperRecord("x", "BERT & 50% of the Cost_{x}", authors=("Sea and Land Group", "A B")), "k")
    assert r"title = {{BERT} \& 50\% of the Cost\_\{x\}}" in text
    assert "author = {{Sea and Land Group} and A B}" in text


@given(
    st.lists(
        st.builds(
            PaperRecord,
            id=st.just("x"),
            title=st.text(max_size=40),
            year=st.integers(0, 2100),
            venue=st.text(max_size=20),
            authors=st.lists(st.text(max_size=20), max_size=3).map(tuple),
            doi=st.text(max_size=20),
        ),
        max_size=4,
    )
)
def test_a_parser_reads_everything_back(papers: list[PaperRecord]) -> None:
    found = bibtexparser.parse_string(entries(papers))
    assert len(found.entries) == len(papers)
    assert not found.failed_blocks
    assert len({one.key for one in found.entries}) == len(papers)
