"""Exports of Zotero in RDF."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from helpers.odd_papers import of_real_shape

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.names import split_name
from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts.library import Library
from cocite.errors import InputError

BEGIN = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:z="http://www.zotero.org/namespaces/export#"
 xmlns:bib="http://purl.org/net/biblio#" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:dcterms="http://purl.org/dc/terms/" xmlns:foaf="http://xmlns.com/foaf/0.1/"
 xmlns:link="http://purl.org/rss/1.0/modules/link/" xmlns:vcard="http://nwalsh.com/rdf/vCard#"
 xmlns:prism="http://prismstandard.org/namespaces/1.2/basic/">
"""
LIBRARY = (
    BEGIN
    + """
<bib:Article rdf:about="https://example.org/trees">
  <z:itemType>journalArticle</z:itemType>
  <dcterms:isPartOf rdf:resource="urn:issn:1234-5678"/>
  <bib:authors><rdf:Seq>
    <rdf:li><foaf:Person><foaf:surname>van Beethoven</foaf:surname>
      <foaf:givenName>Ludwig</foaf:givenName></foaf:Person></rdf:li>
    <rdf:li><foaf:Person><foaf:surname>World Health Organization</foaf:surname></foaf:Person></rdf:li>
  </rdf:Seq></bib:authors>
  <bib:editors><rdf:Seq>
    <rdf:li><foaf:Person><foaf:surname>Editor</foaf:surname><foaf:givenName>An</foaf:givenName></foaf:Person></rdf:li>
  </rdf:Seq></bib:editors>
  <dcterms:isReferencedBy rdf:resource="#item_7"/>
  <link:link rdf:resource="#item_8"/>
  <dc:subject>parsing</dc:subject>
  <dc:subject><z:AutomaticTag><rdf:value>trees</rdf:value></z:AutomaticTag></dc:subject>
  <dc:title>On trees &amp;
    more</dc:title>
  <dcterms:abstract>We draw.</dcterms:abstract>
  <dc:date>May 2003</dc:date>
  <dc:identifier><dcterms:URI><rdf:value>https://example.org/trees</rdf:value></dcterms:URI></dc:identifier>
  <bib:pages>1-9</bib:pages>
</bib:Article>
<bib:Memo rdf:about="#item_7"><rdf:value>&lt;p&gt;to read&lt;/p&gt;</rdf:value></bib:Memo>
<z:Attachment rdf:about="#item_8"><z:itemType>attachment</z:itemType><dc:title>Full text</dc:title></z:Attachment>
<rdf:Description rdf:about="#item_9">
  <z:itemType>conferencePaper</z:itemType>
  <dcterms:isPartOf><bib:Journal>
    <dc:title>Proceedings of Trees</dc:title><dc:identifier>ISBN 978-3</dc:identifier>
    <dc:identifier>DOI 10.5555/12</dc:identifier>
    <dcterms:isPartOf><bib:Series><dc:title>Some series</dc:title></bib:Series></dcterms:isPartOf>
  </bib:Journal></dcterms:isPartOf>
  <bib:authors><rdf:Seq>
    <rdf:li><foaf:Person><foaf:surname>Lee</foaf:surname><foaf:givenname>Ann</foaf:givenname></foaf:Person></rdf:li>
  </rdf:Seq></bib:authors>
  <dc:title>Graphs</dc:title><dc:date>2005-06-07</dc:date>
</rdf:Description>
<bib:Journal rdf:about="urn:issn:1234-5678">
  <prism:volume>3</prism:volume><dc:title>Journal of Trees</dc:title><dc:identifier>DOI 10.1000/182</dc:identifier>
</bib:Journal>
<rdf:Description rdf:about="http://arxiv.org/abs/1706.03762">
  <z:itemType>preprint</z:itemType>
  <dc:publisher><foaf:Organization><foaf:name>arXiv</foaf:name></foaf:Organization></dc:publisher>
  <dc:title>Attention</dc:title><dc:date>2017</dc:date><dc:description>arXiv:1706.03762 [cs.CL]</dc:description>
</rdf:Description>
<bib:Book rdf:about="urn:isbn:978-3">
  <z:itemType>book</z:itemType><dc:title>A book</dc:title><dc:date>1999</dc:date>
  <dc:publisher><foaf:Organization><vcard:adr><vcard:Address><vcard:locality>Rome</vcard:locality></vcard:Address>
  </vcard:adr><foaf:name>A press</foaf:name></foaf:Organization></dc:publisher>
  <dc:description>Note
DOI: 10.7/book</dc:description>
</bib:Book>
<z:Collection rdf:about="#collection_1"><dc:title>To read</dc:title>
  <dcterms:hasPart rdf:resource="#item_9"/></z:Collection>
</rdf:RDF>
"""
)
PAPERS = [
    PaperRecord(
        "10.1000/182",
        "On trees & more",
        "We draw.",
        2003,
        "Journal of Trees",
        ("Ludwig van Beethoven", "World Health Organization"),
        ("parsing", "trees"),
        "10.1000/182",
    ),
    PaperRecord(
        "10.5555/12",
        "Graphs",
        year=2005,
        venue="Proceedings of Trees",
        authors=("Ann Lee",),
        doi="10.5555/12",
    ),
    PaperRecord(
        "10.48550/arXiv.1706.03762", "Attention", year=2017, venue="arXiv", doi="10.48550/arXiv.1706.03762"
    ),
    PaperRecord("10.7/book", "A book", year=1999, venue="A press", doi="10.7/book"),
]


def read(path: Path, text: str) -> list[Any]:
    path.write_text(text, encoding="utf-8")
    assert detect(path) == "zotero-rdf"
    return list(open_source(path))


def test_items_of_several_types(tmp_path: Path) -> None:
    assert read(tmp_path / "My Library.rdf", LIBRARY) == PAPERS


def test_a_corpus_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.rdf").write_text(LIBRARY)
    corpus = build(open_source(tmp_path / "in"), tmp_path / "corpus")
    assert corpus.ids(range(len(corpus))) == [paper.id for paper in PAPERS]


def test_rdf_of_another_form_has_no_papers(tmp_path: Path) -> None:
    assert (
        read(tmp_path / "a.rdf", f"{BEGIN}<bib:Article><dc:title>A</dc:title></bib:Article></rdf:RDF>") == []
    )
    nested = f"<bib:Book><dc:relation>{PAPERS[0].title}</dc:relation></bib:Book>".replace("&", "&amp;")
    assert read(tmp_path / "a.rdf", f"{BEGIN}<z:all>{nested}</z:all></rdf:RDF>") == []


def test_it_is_a_library_of_papers_that_one_has(tmp_path: Path) -> None:
    corpus = starter_corpus()
    some = [paper for paper in corpus.papers_at(range(0, len(corpus), 40)) if " " in paper.title]
    (tmp_path / "have.rdf").write_text(as_rdf(some), encoding="utf-8")
    library = Library.read([tmp_path / "have.rdf"], corpus)
    assert corpus.ids(library.rows) == [paper.id for paper in some]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<!DOCTYPE RDF [<!ENTITY a "b">]><RDF/>', "the DOCTYPE holds declarations"),
        ("<xml/>", "the outermost element is <xml>, not <RDF>"),
        ("<RDF><Article>", "not valid XML: no element found"),
        ("<RDF><Article>" + "<a>" * 300, "more than 200 elements within one another"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.rdf").write_text(text)
    with pytest.raises(InputError, match=reason):
        list(open_source(tmp_path / "x.rdf", "zotero-rdf"))


def as_rdf(papers: list[PaperRecord]) -> str:
    """Papers as Zotero exports them, written without cocite's own code."""
    items = []
    for paper in papers:
        authors = ""
        for name in paper.authors:
            parts = split_name(name)
            given = f"<foaf:givenName>{escape(parts.given)}</foaf:givenName>" if parts and parts.given else ""
            family = f"{parts.particle} {parts.family}".strip() if parts and parts.given else name
            person = f"<foaf:surname>{escape(family)}</foaf:surname>{given}"
            authors += f"<rdf:li><foaf:Person>{person}</foaf:Person></rdf:li>"
        doi = f"<dc:identifier>DOI {escape(paper.doi)}</dc:identifier>" if paper.doi else ""
        subjects = "".join(f"<dc:subject>{escape(one)}</dc:subject>" for one in paper.keyphrases)
        items.append(
            f"<bib:Article><z:itemType>journalArticle</z:itemType><dcterms:isPartOf><bib:Journal><dc:title>"
            f"{escape(paper.venue)}</dc:title>{doi}</bib:Journal></dcterms:isPartOf><bib:authors><rdf:Seq>{authors}"
            f"</rdf:Seq></bib:authors>{subjects}<dc:title>{escape(paper.title)}</dc:title><dcterms:abstract>"
            f"{escape(paper.abstract)}</dcterms:abstract><dc:date>{paper.year or ''}</dc:date></bib:Article>"
        )
    return f"{BEGIN}{''.join(items)}</rdf:RDF>"


def test_a_thousand_items_of_real_shape_come_back(tmp_path: Path) -> None:
    papers = of_real_shape(1000)
    for paper, back in zip(papers, read(tmp_path / "all.rdf", as_rdf(papers)), strict=True):
        assert (back.title, back.year, back.venue) == (paper.title, paper.year, paper.venue)
        assert (back.keyphrases, back.doi) == (paper.keyphrases, paper.doi)
        assert len(back.authors) == len(paper.authors)
