from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from helpers.tei import cite, numbers, reference, tei
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.tei_document import (
    HEADER,
    Named,
    body_of,
    header_name,
    header_paper,
    references,
)
from cocite.corpus.importers.xml_records import xml_records
from cocite.corpus.records import ContextRecord, PaperRecord, SentenceRecord
from cocite.corpus.streams import SourcePosition

HEADER_TEXT = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader>
<fileDesc>
  <titleStmt><title level="a" type="main">Attention <hi rend="it">Is</hi> All
    You Need</title><funder/></titleStmt>
  <publicationStmt><publisher>ACL</publisher>
    <date type="published" when="2018-01-01">2018</date></publicationStmt>
  <sourceDesc><biblStruct>
    <analytic>
      <author role="corresp"><persName><forename type="first">Ashish</forename>
        <forename type="middle">Q</forename><surname>Vaswani</surname><genName>Jr</genName></persName>
        <affiliation key="aff0"><orgName type="institution">Google</orgName></affiliation></author>
      <author><orgName>OpenAI</orgName></author>
      <author><affiliation/></author>
      <title level="a" type="main">Attention Is All You Need</title>
    </analytic>
    <monogr><title level="m">Proceedings of X</title>
      <imprint><date type="published" when="2017-06-12">12 Jun 2017</date></imprint></monogr>
    <idno type="MD5">AB</idno><idno type="arXiv">arXiv:1706.03762v5[cs.CL]</idno>
    <idno type="DOI">10.1/ABC</idno>
  </biblStruct></sourceDesc>
</fileDesc>
<profileDesc>
  <textClass><keywords><term>attention</term><term> </term><term>machine
    translation</term></keywords></textClass>
  <abstract><div><head>Abstract</head><p>One.</p><p>Two <ref>[1]</ref>.</p></div></abstract>
</profileDesc></teiHeader></TEI>"""


def document(path: Path, text: str) -> Element:
    """The outermost element, as the importer reads it."""
    path.write_text(text, encoding="utf-8")
    with InputFile(path) as stream:
        [(_, element)] = xml_records(stream, SourcePosition(), {"TEI"}, "TEI")
    return element


def header(path: Path, text: str) -> Element:
    found = document(path, text).find(HEADER)
    assert found is not None
    return found


def test_the_paper_of_a_header(tmp_path: Path) -> None:
    element = header(tmp_path / "x.xml", HEADER_TEXT)
    assert header_paper(element, "a") == PaperRecord(
        "a",
        "Attention Is All You Need",
        "One. Two [1].",
        2017,
        "Proceedings of X",
        ("Ashish Q Vaswani Jr", "OpenAI"),
        ("attention", "machine translation"),
        "10.1/abc",
    )
    assert header_name(element) == Named("10.1/abc", "1706.03762", "Attention Is All You Need")


@pytest.mark.parametrize(
    ("old", "new", "field", "value"),
    [
        (' when="2017-06-12"', "", "year", 2018),
        (' when="2017-06-12">12 Jun 2017', ">2016", "year", 2016),
        (' when="2017-06-12">12 Jun 2017</date>', "/>", "year", 2018),
        ("10.1/ABC", "https://doi.org/10.1/abc", "doi", "10.1/abc"),
        ('<idno type="DOI">10.1/ABC</idno>', "", "doi", "10.48550/arXiv.1706.03762"),
        ('<title level="m">Proceedings of X</title>', "", "venue", ""),
        ("<surname>Vaswani</surname>", "", "authors", ("Ashish Q Jr", "OpenAI")),
        ('<hi rend="it">Is</hi>', "was", "title", "Attention was All You Need"),
        ("<p>One.</p><p>Two <ref>[1]</ref>.</p>", "", "abstract", ""),
    ],
)
def test_what_a_header_may_lack(tmp_path: Path, old: str, new: str, field: str, value: object) -> None:
    assert old in HEADER_TEXT
    element = header(tmp_path / "x.xml", HEADER_TEXT.replace(old, new))
    assert getattr(header_paper(element, "a"), field) == value


def test_a_header_without_anything_is_a_paper_without_anything(tmp_path: Path) -> None:
    element = header(tmp_path / "x.xml", "<TEI><teiHeader/></TEI>")
    assert header_paper(element, "a") == PaperRecord("a", "")
    assert header_name(element) == Named("", "", "")
    empty = document(tmp_path / "x.xml", "<TEI/>")
    assert (references(empty), list(body_of(empty, {}).records("a"))) == ({}, [])


def test_references_are_found_by_doi_number_and_title(tmp_path: Path) -> None:
    entries = [
        reference("One article", DOI="10.1/A", arXiv="arXiv:1001.0001"),
        reference("Two", arXiv="hep-th/9901001"),
        reference("Three", DOI="10.48550/arXiv.1001.0003"),
        "<monogr><title level='m'>A book</title></monogr>",
        "<monogr><title level='j'>A journal</title></monogr>",
        f"<monogr/>{numbers({'doi': 'doi:10.1/F'})}",
        "<note type='raw_reference'>Nothing</note>",
    ]
    assert references(document(tmp_path / "x.xml", tei("A", references=entries))) == {
        "b0": Named("10.1/a", "1001.0001", "One article"),
        "b1": Named("", "hep-th/9901001", "Two"),
        "b2": Named("10.48550/arxiv.1001.0003", "1001.0003", "Three"),
        "b3": Named("", "", "A book"),
        "b4": Named("", "", ""),
        "b5": Named("10.1/f", "", ""),
        "b6": Named("", "", ""),
    }


def test_a_body_has_its_sections_and_citations(tmp_path: Path) -> None:
    body = f"""
<div><head n="1">Intro  duction</head><p>As {cite(0)}, {cite(1, "[2]")} say.
  See <ref type="figure" target="#fig_0">Figure 1</ref><note>no</note>.</p><formula>x = y</formula>
  <p>More <ref type="bibr">(Unknown, 1999)</ref> here.</p></div>
<figure xml:id="fig_0"><head>Figure 1</head><figDesc><p>Left out {cite(0)}.</p></figDesc></figure>
<note place="foot"><p>Left out.</p></note>
<div><head>Method</head><p><s>First is {cite(2)}.</s><s>Second <formula>a b</formula> ends.</s></p>
  <list><item>An item.</item></list>
  <div><head>Part</head><p>Within <ref type="bibr" target="#b1 #b0">[2, 1]</ref> it.</p></div><p>After.</p></div>
"""
    element = document(tmp_path / "x.xml", tei("A", body=body))
    found = list(body_of(element, {"b0": "x", "b1": "y", "b2": ""}).records("p"))
    assert [(r.text, r.section) for r in found if isinstance(r, SentenceRecord)] == [
        ("As [[CIT:0]] say.", "Intro duction"),
        ("See Figure 1.", "Intro duction"),
        ("More [[CIT:1]] here.", "Intro duction"),
        ("First is [[CIT:2]].", "Method"),
        ("Second a b ends.", "Method"),
        ("An item.", "Method"),
        ("Within [[CIT:3]] it.", "Part"),
        ("After.", "Method"),
    ]
    assert [r for r in found if isinstance(r, ContextRecord)] == [
        ContextRecord("p/0", "p", ("x", "y"), "As TARGETCIT say. See Figure 1.", 0, "Intro duction", 0),
        ContextRecord("p/3", "p", ("y",), "Within TARGETCIT it.", 6, "Part", 3),
    ]


PIECES = st.lists(st.sampled_from(["Word ", "and. ", cite(0), cite(1), cite(9), "<hi>x</hi>", "\n ", "; "]))


@given(st.lists(PIECES, max_size=4))
def test_each_matched_citation_is_in_one_context(tmp_path: Path, paragraphs: list[list[str]]) -> None:
    body = "<div>" + "".join(f"<p>{''.join(pieces)}</p>" for pieces in paragraphs) + "</div>"
    element = document(tmp_path / "x.xml", tei("A", body=body))
    found = list(body_of(element, {"b0": "zero", "b1": "one"}).records("p"))
    contexts = [record for record in found if isinstance(record, ContextRecord)]
    for number, id_ in enumerate(("zero", "one")):
        is_cited = any(cite(number) in pieces for pieces in paragraphs)
        assert any(id_ in context.cited for context in contexts) == is_cited
    text = " ".join(record.text for record in found if isinstance(record, SentenceRecord))
    groups = [int(piece.partition("]]")[0]) for piece in text.split("[[CIT:")[1:]]
    assert groups == list(range(len(groups)))
