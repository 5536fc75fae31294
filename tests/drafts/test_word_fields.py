"""What the fields of .docx files cite."""

from __future__ import annotations

import pytest
from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from helpers.word_files import (
    add_notes,
    add_properties,
    add_runs,
    add_sources,
    bookmark_xml,
    control_xml,
    endnote_xml,
    field_xml,
    mendeley_tag,
    saved,
    zotero,
)

from cocite.corpus.starter import starter_corpus
from cocite.drafts import word_fields
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.draft import Draft
from cocite.drafts.reader_process import read_apart
from cocite.drafts.reading import open_files
from cocite.drafts.reference_list import with_references

ATTENTION = {
    "id": 7,
    "type": "paper-conference",
    "title": "Attention Is All You Need",
    "author": [{"family": "Vaswani", "given": "Ashish"}],
    "issued": {"date-parts": [["2017"]]},
    "abstract": "Left out.",
}
OTHER = {"id": "ITEM-1", "title": "Of another field", "DOI": "https://doi.org/10.1/X"}


def read(document: object) -> Draft:
    return open_files({"a.docx": saved(document)}).draft


def cited(draft: Draft) -> list[tuple[str, int]]:
    return [(citation.key, citation.place.line) for citation in draft.citations]


@pytest.mark.parametrize("piece", [0, 1, 7])
def test_fields_of_zotero_however_word_divides_them(piece: int) -> None:
    document = Document()
    document.add_paragraph("Nothing here.")
    paragraph = document.add_paragraph("We follow ")
    add_runs(paragraph, field_xml(zotero(ATTENTION, OTHER) + " RNDx1", "(Vaswani 2017)", piece=piece))
    paragraph.add_run(" and more [CIT].")
    draft = read(document)
    assert cited(draft) == [("vaswani2017attention", 2), ("anonanother", 2)]
    assert [(one.id, one.title, one.year, one.doi, one.abstract) for one in draft.entries] == [
        ("vaswani2017attention", "Attention Is All You Need", 2017, "", ""),
        ("anonanother", "Of another field", 0, "10.1/X", ""),
    ]
    assert draft.gaps[0].context == "Nothing here. We follow (Vaswani 2017) and more TARGETCIT."
    assert (draft.warnings, draft.cites) == ((), True)


def test_fields_of_mendeley_give_one_paper_one_key() -> None:
    document = Document()
    value = zotero(OTHER).replace("ZOTERO_ITEM ", "")
    second = zotero(OTHER | {"id": "ITEM-2", "title": "of another field"}, ATTENTION).replace(
        "ZOTERO_ITEM ", ""
    )
    add_runs(document.add_paragraph("A "), field_xml(value, "(1)"))
    add_runs(document.add_paragraph("B "), field_xml(second, "(1,2)"))
    draft = read(document)
    assert cited(draft) == [("anonanother", 1), ("anonanother", 2), ("vaswani2017attention", 2)]
    assert len(draft.entries) == 2


RECORD = (
    "<record><rec-number>5</rec-number><ref-type name='Conference Paper'>47</ref-type><contributors><authors><author>"
    "<style face='normal'>Vaswani, Ashish</style></author></authors></contributors><titles><title>"
    "<style face='normal'>Attention Is All </style><style face='italic'>You Need</style></title></titles>"
    "<dates><year>2017</year></dates><electronic-resource-num>10.1/Y</electronic-resource-num></record>"
)
ENDNOTE = (
    f"<EndNote><Cite><Author>Vaswani</Author><Year>2017</Year><RecNum>5</RecNum>{RECORD}</Cite>"
    "<Cite><Author>Lee</Author><Year>1999</Year><RecNum>6</RecNum></Cite></EndNote>"
)


@pytest.mark.parametrize("where", ["instruction", "data"])
def test_fields_of_endnote(where: str) -> None:
    document = Document()
    paragraph = document.add_paragraph("We follow ")
    text = "(Vaswani, 2017; Lee, 1999)"
    add_runs(
        paragraph,
        endnote_xml(ENDNOTE, text)
        if where == "data"
        else field_xml(f" ADDIN EN.CITE {ENDNOTE}", text, piece=90),
    )
    draft = read(document)
    assert [(one.title, one.year, one.doi, one.authors) for one in draft.entries] == [
        ("Attention Is All You Need", 2017, "10.1/Y", ("Ashish Vaswani",))
    ]
    assert cited(draft) == [("vaswani2017attention", 1)]
    [warning] = draft.warnings  # the second one has no record
    assert warning.startswith("1 citation field could not be read")


def test_controls_of_mendeley_cite() -> None:
    document = Document()
    run = "<w:r><w:t>(Vaswani, 2017)</w:t></w:r>"
    add_runs(document.add_paragraph("We follow "), control_xml(mendeley_tag(ATTENTION, OTHER), run))
    # A control of its own, around a paragraph.
    last = document.add_paragraph()
    around = parse_xml(control_xml(mendeley_tag(OTHER), "").replace("<w:sdt>", f"<w:sdt {nsdecls('w')}>"))
    last._p.addprevious(around)
    around[-1].append(last._p)
    add_runs(document.add_paragraph(), control_xml("MENDELEY_BIBLIOGRAPHY", "<w:r><w:t>Vaswani.</w:t></w:r>"))
    draft = read(document)
    assert cited(draft) == [("vaswani2017attention", 1), ("anonanother", 1), ("anonanother", 2)]
    assert draft.warnings == ()


def test_bookmarks_of_zotero() -> None:
    document = Document()
    code = zotero(ATTENTION | {"abstract": "x" * 3_000}, OTHER).replace(" ADDIN ", "")
    pieces = [code[at : at + 255] for at in range(0, len(code), 255)]
    assert len(pieces) > 10, "so that their order is that of numbers, and not of letters"
    named = {f"ZOTERO_BREF_aB3_{number}": piece for number, piece in enumerate(pieces, 1)}
    add_properties(document, {"ZOTERO_PREF_1": "<data/>", **dict(reversed(named.items()))})
    paragraph = document.add_paragraph("We follow ")
    add_runs(paragraph, bookmark_xml("ZOTERO_BREF_aB3", "(Vaswani, 2017)") + bookmark_xml("_Toc1", "x"))
    draft = read(document)
    assert cited(draft) == [("vaswani2017attention", 1), ("anonanother", 1)]
    assert draft.warnings == ()


@pytest.mark.parametrize(
    "xml",
    [
        control_xml("MENDELEY_CITATION_v3_!", "<w:r><w:t>(1)</w:t></w:r>"),
        control_xml("MENDELEY_CITATION_v3_eyJh", "<w:r><w:t>(1)</w:t></w:r>"),
        control_xml("MENDELEY_CITATION_v3_", "<w:r><w:t>(1)</w:t></w:r>"),
        bookmark_xml("ZOTERO_BREF_none", "(1)"),
        endnote_xml("", "(1)"),
        endnote_xml("<EndNote>", "(1)"),
        endnote_xml("<EndNote/>", "(1)"),
        endnote_xml('<!DOCTYPE a [<!ENTITY b "c">]><EndNote><Cite>&b;</Cite></EndNote>', "(1)"),
    ],
)
def test_what_a_control_a_bookmark_or_endnote_lacks_is_told(xml: str) -> None:
    document = Document()
    add_runs(document.add_paragraph("We follow "), xml)
    draft = read(document)
    assert (draft.entries, draft.citations) == ((), ())
    [warning] = draft.warnings
    assert warning.startswith("1 citation field could not be read")


def test_sources_of_word_by_their_tags() -> None:
    document = Document()
    add_sources(
        document,
        "<b:Source><b:Tag>Vas17</b:Tag><b:Title>Attention Is All\n You Need</b:Title><b:Year>2017</b:Year>"
        "<b:Author><b:Author><b:NameList><b:Person><b:Last>Vaswani</b:Last><b:First>Ashish</b:First></b:Person>"
        "</b:NameList></b:Author></b:Author></b:Source>"
        "<b:Source><b:Tag>Ott 19</b:Tag><b:Title>Novel parsing</b:Title>"
        "<b:StandardNumber>DOI: 10.1000/y</b:StandardNumber>"
        "<b:Author><b:Author><b:Corporate>The Parsing Group</b:Corporate></b:Author></b:Author>"
        "</b:Source><b:Source><b:Tag>Unused</b:Tag><b:Title>Never cited</b:Title></b:Source>",
    )
    add_runs(document.add_paragraph("A "), field_xml(r' CITATION Vas17 \p 3 \m "Ott 19" \l 1033 ', "(1)"))
    add_runs(document.add_paragraph("B "), r'<w:fldSimple w:instr="CITATION Vas17 \l 1033"/>')
    add_runs(document.add_paragraph("C "), field_xml("CITATION Gone", "(?)"))
    draft = read(document)
    assert cited(draft) == [("vaswani2017attention", 1), ("groupnovel", 1), ("vaswani2017attention", 2)]
    assert [(one.title, one.authors, one.doi) for one in draft.entries] == [
        ("Attention Is All You Need", ("Ashish Vaswani",), ""),
        ("Novel parsing", ("The Parsing Group",), "10.1000/y"),
    ]
    [warning] = draft.warnings
    assert warning.startswith(
        "1 citation field could not be read, so that papers cited there may be recommended"
    )


@pytest.mark.parametrize(
    "instruction",
    [
        ' ADDIN ZOTERO_ITEM CSL_CITATION {"citationItems": [',
        ' ADDIN CSL_CITATION {"citationItems": 7}',
        ' ADDIN CSL_CITATION {"citationItems": [{"id": 1}]}',
        ' ADDIN CSL_CITATION {"citationItems": [{"itemData": {"title": ["x"]}}]}',
        ' ADDIN CSL_CITATION {"citationItems": [{"itemData": {"title": "\\ud800"}}]}',
        " ADDIN CSL_CITATION {" + '"a":[' * 100_000,
        ' ADDIN CSL_CITATION {"n": ' + "9" * 10_000 + "}",
    ],
    ids=range(7),
)
def test_a_broken_field_is_left_out_with_a_sentence(instruction: str) -> None:
    document = Document()
    add_runs(document.add_paragraph("A "), field_xml(instruction, "(x)"))
    add_runs(document.add_paragraph("B "), field_xml(zotero(ATTENTION), "(y)"))
    draft = read(document)
    assert cited(draft) == [("vaswani2017attention", 2)]
    assert [one.partition(",")[0] for one in draft.warnings] == ["1 citation field could not be read"]


def test_of_a_field_with_one_broken_item_the_others_count() -> None:
    document = Document()
    add_runs(document.add_paragraph("A "), field_xml(zotero({"title": 7.5, "DOI": []}, ATTENTION), "(x)"))
    draft = read(document)
    assert cited(draft) == [("vaswani2017attention", 1)]
    assert len(draft.warnings) == 1


def test_fields_within_fields_in_notes_and_over_paragraphs() -> None:
    document = Document()
    first = document.add_paragraph("A ")
    add_runs(first, '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>IF </w:instrText></w:r>')
    add_runs(first, field_xml(zotero(ATTENTION), "(x)"))
    add_runs(first, '<w:r><w:footnoteReference w:id="2"/></w:r>')
    add_runs(document.add_paragraph("B "), '<w:r><w:fldChar w:fldCharType="end"/></w:r>')
    deleted = field_xml(zotero(OTHER | {"title": "Deleted", "DOI": ""}), "(z)")
    add_runs(document.add_paragraph("C "), f"<w:del>{deleted}</w:del>")
    add_notes(document, {"2": field_xml(zotero(OTHER), "(y)")})
    assert cited(read(document)) == [("vaswani2017attention", 1), ("anonanother", 1)]


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document()
    for title in ("One", "Two", "Three"):
        add_runs(document.add_paragraph("A "), field_xml(zotero(OTHER | {"title": title, "DOI": ""}), "(x)"))
    monkeypatch.setattr(word_fields, "MAX_CITED", 2)
    draft = read(document)
    assert [one.title for one in draft.entries] == ["One", "Two"]
    assert draft.warnings == ("the fields cite more than 2 papers: the others were left out",)
    monkeypatch.setattr(word_fields, "MAX_FIELDS", 1)
    assert len(read(document).entries) == 1
    monkeypatch.setattr(word_fields, "MAX_FIELD", 20)
    assert read(document).entries == ()
    assert read(document).warnings[0].startswith("3 citation fields could not be read")


def test_entities_in_sources_are_not_expanded() -> None:
    document = Document()
    add_sources(document, "<b:Source><b:Tag>A</b:Tag><b:Title>x&e;</b:Title></b:Source>")
    [part] = [r.target_part for r in document.part.rels.values() if r.target_ref.endswith("item7.xml")]
    part._blob = b'<!DOCTYPE x [<!ENTITY e "secret">]>' + part.blob
    add_runs(document.add_paragraph("A "), field_xml("CITATION A", "(x)"))
    assert [one.title for one in read(document).entries] == ["x"]


def test_what_fields_cite_is_found_in_the_corpus() -> None:
    document = Document()
    add_runs(document.add_paragraph("A [CIT] "), field_xml(zotero(ATTENTION, OTHER), "(x)"))
    document.add_paragraph("References", style="Heading 1")
    document.add_paragraph("Vaswani et al. Attention is all you need. 2017.")
    document.add_paragraph(
        "Sennrich et al. Neural Machine Translation of Rare Words with Subword Units. 2016."
    )
    corpus = starter_corpus()
    apart = read_apart({"a.docx": saved(document)}, seconds=60).draft
    assert apart == read(document)
    # Another .bib that has the key of a field does not say what the draft cites.
    others = Bibliography({"vaswani2017attention": apart.entries[1]}, {"vaswani2017attention": 5})
    draft, bibliography = with_references(apart, others, corpus)
    assert {key: corpus.ids([row])[0] for key, row in bibliography.cited_rows(draft).items()} == {
        "vaswani2017attention": "vaswani2017attention",
        "sennrich2016neural": "sennrich2016neural",
    }
    assert bibliography.entries["anonanother"].title == "Of another field"
    assert with_references(draft, bibliography, corpus) == (draft, bibliography)


def test_a_printed_paper_is_cited_where_a_field_has_its_id_for_another() -> None:
    document = Document()
    item = ATTENTION | {"title": "Attention in another field"}
    add_runs(document.add_paragraph("A [CIT] "), field_xml(zotero(item), "(x)"))
    document.add_paragraph("References", style="Heading 1")
    document.add_paragraph("Vaswani et al. Attention is all you need. 2017.")
    draft, bibliography = with_references(read(document), Bibliography({}, {}), starter_corpus())
    assert list(bibliography.cited_rows(draft)) == ["vaswani2017attention (printed)"]
