from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from helpers.odd_papers import of_real_shape
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError

STYLE = '<style face="normal" font="default" size="100%">'
ENDNOTE = f"""<?xml version="1.0" encoding="UTF-8" ?><xml><records><record><database name="My.enl"
path="/My.enl">My.enl</database><source-app name="EndNote" version="20.4">EndNote</source-app>
<rec-number>12</rec-number><foreign-keys><key app="EN" db-id="0x">12</key></foreign-keys>
<ref-type name="Journal Article">17</ref-type><contributors><authors>
<author>{STYLE}van Beethoven, Ludwig</style></author><author>{STYLE}World Health Organization,</style></author>
</authors><secondary-authors><author>{STYLE}Editor, An</style></author></secondary-authors></contributors>
<titles><title>{STYLE}On </style><style face="italic" font="default" size="100%">H</style><style
face="subscript">2</style>{STYLE}O &amp; more</style></title><secondary-title>{STYLE}TACL</style></secondary-title>
</titles><periodical><full-title>{STYLE}Transactions</style></full-title></periodical><pages>1-2</pages>
<keywords><keyword>{STYLE}parsing&#xD;trees</style></keyword><keyword>{STYLE}syntax</style></keyword></keywords>
<dates><year>{STYLE}2003</style></year><pub-dates><date>{STYLE}May 1999</style></date></pub-dates></dates>
<abstract>{STYLE}One.&#xD;Two.</style></abstract><urls><related-urls><url>https://a.b</url></related-urls></urls>
<electronic-resource-num>{STYLE}https://doi.org/10.1000/182</style></electronic-resource-num></record>
<record><ref-type name="Book">6</ref-type><contributors><authors><author>Lee, Ann</author></authors></contributors>
<titles><title>Trees</title></titles><publisher>MIT Press</publisher><accession-num>77</accession-num>
<electronic-resource-num>ISBN 3</electronic-resource-num>
<dates><pub-dates><date>May 1999</date></pub-dates></dates></record>
<record><titles><title>Untold</title></titles></record></records></xml>
"""
PAPERS = [
    PaperRecord(
        "10.1000/182",
        "On H2O & more",
        "One. Two.",
        2003,
        "TACL",
        ("Ludwig van Beethoven", "World Health Organization"),
        ("parsing", "trees", "syntax"),
        "10.1000/182",
    ),
    PaperRecord("77", "Trees", year=1999, venue="MIT Press", authors=("Ann Lee",)),
    PaperRecord("Untold", "Untold"),
]


def read(path: Path, text: str | bytes) -> list[Any]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert detect(path) == "endnote"
    return list(open_source(path))


def test_references_of_several_types(tmp_path: Path) -> None:
    assert read(tmp_path / "My.xml", ENDNOTE) == PAPERS
    assert read(tmp_path / "My.xml.gz", gzip.compress(ENDNOTE.encode())) == PAPERS
    latin1 = ENDNOTE.replace("UTF-8", "iso-8859-1").replace("Untold", "Über")
    assert read(tmp_path / "latin1.xml", latin1.encode("latin-1"))[-1].title == "Über"


def test_a_corpus_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xml").write_text(ENDNOTE)
    corpus = build(open_source(tmp_path / "in"), tmp_path / "corpus")
    assert corpus.ids(range(len(corpus))) == [paper.id for paper in PAPERS]


def test_records_elsewhere_are_none_of_endnote(tmp_path: Path) -> None:
    assert read(tmp_path / "x.xml", "<xml><record><titles><title>A</title></titles></record></xml>") == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<!DOCTYPE xml [<!ENTITY a "b">]><xml><records/></xml>', "the DOCTYPE holds declarations"),
        ("<collection/>", "the outermost element is <collection>, not <xml>"),
        ("<xml><records><record>", "not valid XML: no element found"),
        ("<xml><records><record>" + "<a>" * 300, "more than 200 elements within one another"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.xml").write_text(text)
    with pytest.raises(InputError, match=reason):
        list(open_source(tmp_path / "x.xml", "endnote"))


def field(name: str, *texts: str) -> str:
    """An element whose text stands in pieces of one style each, a piece for each word."""
    pieces = (f"<style>{escape(word)} </style>" for text in texts for word in text.split(" "))
    return f"<{name}>{''.join(pieces)}</{name}>"


def as_endnote(papers: list[PaperRecord]) -> str:
    """Papers as EndNote's XML, written without cocite's own code."""
    records = []
    for paper in papers:
        authors = "".join(field("author", f"{name},") for name in paper.authors)
        keywords = "".join(field("keyword", phrase) for phrase in paper.keyphrases)
        records.append(
            f"<record><contributors><authors>{authors}</authors></contributors>"
            f"<titles>{field('title', paper.title)}{field('secondary-title', paper.venue)}</titles>"
            f"<keywords>{keywords}</keywords><dates>{field('year', str(paper.year or ''))}</dates>"
            f"{field('abstract', paper.abstract)}{field('electronic-resource-num', paper.doi)}</record>"
        )
    return f"<xml><records>{''.join(records)}</records></xml>"


def test_a_thousand_records_of_real_shape_come_back(tmp_path: Path) -> None:
    papers = of_real_shape(1000)
    found = read(tmp_path / "all.xml", as_endnote(papers))
    for paper, back in zip(papers, found, strict=True):
        assert (back.title, back.year, back.venue) == (paper.title, paper.year, paper.venue)
        assert (back.keyphrases, back.doi) == (paper.keyphrases, paper.doi)
        # A name with a comma is `Family, Given`, and comes back in the order of a corpus.
        plain = [(a, b) for a, b in zip(paper.authors, back.authors, strict=True) if "," not in a]
        assert all(a == b for a, b in plain)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=20)


@given(TEXTS, TEXTS, TEXTS)
def test_any_texts_come_back(tmp_path: Path, title: str, venue: str, phrase: str) -> None:
    paper = PaperRecord(title, title, venue=venue, keyphrases=(phrase,) if phrase else ())
    (back,) = read(tmp_path / "x.xml", as_endnote([paper]))
    assert back == paper
