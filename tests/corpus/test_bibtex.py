"""BibTeX that a parser reads back, whatever the corpus holds."""

from __future__ import annotations

import random
import re
from pathlib import Path

import bibtexparser
import pybtex.database
import pytest
from helpers.odd_papers import of_real_shape
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus import starter
from cocite.corpus.bibtex import citation_key, citation_keys, entries, entry
from cocite.corpus.importers import open_source
from cocite.corpus.records import Malformed, PaperRecord

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


def test_keys_differ_in_more_than_their_case() -> None:
    assert citation_keys([OCH], taken=["Och2003Minimum"]) == ["och2003minimumb"]
    assert citation_keys([OCH], taken=["och2003MINIMUM"], form="auth + year + 'Minimum'") == [
        "Och2003Minimuma"
    ]


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


@pytest.mark.parametrize(
    ("paper", "fields"),
    [
        (PaperRecord("arXiv:1706.03762v5", "T"), {"eprint": "1706.03762"}),
        (PaperRecord("2105.05862", "T"), {"eprint": "2105.05862"}),
        (PaperRecord("x", "T", doi="10.48550/arXiv.1810.04805"), {"eprint": "1810.04805"}),
        (PaperRecord("cmp-lg/9404003", "T"), {"eprint": "cmp-lg/9404003", "primaryClass": "cmp-lg"}),
        (PaperRecord("math.GT/0309136", "T"), {"eprint": "math.GT/0309136", "primaryClass": "math.GT"}),
        (
            PaperRecord("x", "T", venue="arXiv preprint arXiv:1706.03762 [cs.CL]"),
            {"eprint": "1706.03762", "primaryClass": "cs.CL"},
        ),
        (PaperRecord("x", "T", venue="CoRR abs/1706.03762"), {"eprint": "1706.03762"}),
        (PaperRecord("P03-1021", "T", doi="10.1000/182.1234", venue="2019.12 of arXivs"), {}),
    ],
)
def test_arxiv_numbers_are_kept(paper: PaperRecord, fields: dict[str, str]) -> None:
    written = bibtexparser.parse_string(entries([paper])).entries[0].fields_dict
    if fields:
        fields = fields | {"archivePrefix": "arXiv", "url": f"https://arxiv.org/abs/{fields['eprint']}"}
    assert {
        name: field.value for name, field in written.items() if name not in ("title", "doi", "journal")
    } == fields


def test_math_stays_math_and_capitals_within_it_are_kept() -> None:
    text = entry(PaperRecord("x", "An $n^2$ bound, $O(n \\log N)$ at $5 to $6"), "k")
    assert r"title = {An $n^2$ bound, {$O(n \log N)$} at \$5 to \$6}" in text


def test_names_as_bibtex_splits_them() -> None:
    people = (
        "Martin Luther King, Jr.",
        "William Strunk III",
        "Müller, Jörg",
        "Google, Inc.",
        "others",
        "a, b, c",
    )
    text = entry(PaperRecord("x", "T", authors=people), "k")
    assert (
        "author = {King, Jr., Martin Luther and Strunk, III, William and Müller, Jörg and {Google, Inc.} and {others}"
        " and {a, b, c}}" in text
    )


def round_trip(papers: list[PaperRecord], folder: Path) -> None:
    """Papers that are written come back, and two public parsers agree on what is written."""
    text = entries(papers)
    (folder / "out.bib").write_text(text, encoding="utf-8")
    back = list(open_source(folder / "out.bib"))
    assert not [record for record in back if isinstance(record, Malformed)]
    assert len(back) == len(papers)
    for paper, record in zip(papers, back, strict=True):
        assert isinstance(record, PaperRecord)
        assert (record.title, record.venue) == (_spaced(paper.title), _spaced(paper.venue))
        assert record.year == paper.year
        # A comma before "Jr." is the one thing that BibTeX' names cannot hold.
        assert record.authors == tuple(re.sub(r", (?=[JS]r\b)", " ", _spaced(name)) for name in paper.authors)
        assert record.keyphrases == tuple(_spaced(phrase) for phrase in paper.keyphrases)
        assert record.doi == paper.doi or (not paper.doi and record.doi.startswith("10.48550/arXiv."))
    ours = bibtexparser.parse_string(text)
    theirs = pybtex.database.parse_string(text, "bibtex")
    assert not ours.failed_blocks
    assert [one.key for one in ours.entries] == list(theirs.entries)
    for one, paper in zip(ours.entries, papers, strict=True):
        other = theirs.entries[one.key]
        fields = {name: field.value for name, field in one.fields_dict.items()}
        people = other.persons.get("author", [])
        assert len(people) == len(paper.authors)
        assert bool(people) == bool(fields.pop("author", ""))
        assert (other.type, dict(other.fields)) == (one.entry_type, fields)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def test_a_thousand_entries_of_real_shape_come_back(tmp_path: Path) -> None:
    round_trip(of_real_shape(1000), tmp_path)


def test_the_starter_corpus_comes_back(tmp_path: Path) -> None:
    papers = [record for record in starter.records() if isinstance(record, PaperRecord)]
    assert len(papers) == 423
    round_trip(papers, tmp_path)


@pytest.mark.acl
def test_a_thousand_papers_of_acl_come_back(tmp_path: Path, acl: Path) -> None:
    papers = [record for record in open_source(acl) if isinstance(record, PaperRecord)]
    round_trip(random.Random(3).sample(papers, 1000), tmp_path)
