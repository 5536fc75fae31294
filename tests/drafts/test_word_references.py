"""Printed lists of references in .docx files: their numbers, and their next entries."""

from __future__ import annotations

import io
from typing import Any

import pytest
from docx import Document
from docx.enum.section import WD_SECTION
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from helpers.word_files import add_runs, saved

from cocite.drafts.reference_styles import FormattedReference
from cocite.drafts.word_references import ReferenceList
from cocite.drafts.word_text import open_word

NEW = [FormattedReference("Kim. \ue000ACL\ue001."), FormattedReference("Lee.")]


def with_new(document: Any, *, numbered: bool = False) -> tuple[ReferenceList, list[str], Any]:
    """The list of a document, its paragraphs after two more references, and it."""
    word = open_word(saved(document), "a.docx")
    found = ReferenceList.of(word, numbered=numbered)
    found.add(word, NEW)
    again = Document(io.BytesIO(saved(word.document)))
    return found, [paragraph.text for paragraph in again.paragraphs], again


def draft(*entries: str, style: str | None = None, body: str = "We parse.") -> Any:
    document = Document()
    document.add_paragraph(body)
    document.add_paragraph("References", style="Heading 1")
    for entry in entries:
        document.add_paragraph(entry, style=style)
    return document


@pytest.mark.parametrize(
    ("entries", "labels"),
    [
        (["[1] Ott. Trees.", "[2] Roy. Roots."], ["[3] ", "[4] "]),
        (["[1]\tOtt. Trees.", "[7]\tRoy. Roots."], ["[8]\t", "[9]\t"]),
        (["9. Ott. Trees.", "10. Roy. Roots."], ["11. ", "12. "]),
        (["1) Ott. Trees.", "2) Roy. Roots."], ["3) ", "4) "]),
        (["Ott. Trees. 2001.", "Roy. Roots. 2002."], ["", ""]),
        (["2001. Ott.", "2002. Roy.", "Trees", "Roots"], ["", ""]),
    ],
)
def test_numbers_go_on_in_their_form(entries: list[str], labels: list[str]) -> None:
    found, lines, _ = with_new(draft(*entries))
    assert lines[2:] == [*entries, f"{labels[0]}Kim. ACL.", f"{labels[1]}Lee."]
    assert (found.last is None) == (not labels[0])


def test_numbers_of_word_go_on_by_themselves() -> None:
    found, lines, again = with_new(draft("Ott. Trees.", "Roy. Roots.", "Poe. Leaves.", style="List Number"))
    assert (found.last, found.is_automatic, found.cited(4)) == (3, True, "[4]")
    assert lines[-2:] == ["Kim. ACL.", "Lee."]
    assert {one.style.name for one in again.paragraphs[2:]} == {"List Number"}
    assert ReferenceList.of(open_word(saved(again), "a.docx"), numbered=False).last == 5
    bullets, _, _ = with_new(draft("Ott. Trees.", "Roy. Roots.", style="List Bullet"))
    assert bullets.last is None


def test_a_number_that_word_does_not_begin_at_one() -> None:
    document = draft("Ott. Trees.", "Roy. Roots.", style="List Number")
    numbering = document.part.numbering_part.element
    num = numbering.add_num(0)
    abstract = parse_xml(
        f'<w:abstractNum {nsdecls("w")} w:abstractNumId="77"><w:lvl w:ilvl="0"><w:start w:val="5"/>'
        '<w:numFmt w:val="decimal"/><w:lvlText w:val="(%1)"/></w:lvl></w:abstractNum>'
    )
    numbering.insert(0, abstract)
    num.find(qn("w:abstractNumId")).set(qn("w:val"), "77")
    for paragraph in document.paragraphs[2:]:
        paragraph._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = num.numId
    found, _, _ = with_new(document)
    assert (found.last, found.brackets) == (6, "[]")


def test_parentheses_where_the_text_has_them() -> None:
    found, _, _ = with_new(draft("(1) Ott. Trees.", "(2) Roy.", body="We parse (1, 2)."))
    assert found.cited(3) == "(3)"
    found, _, _ = with_new(draft("(1) Ott. Trees.", "(2) Roy.", body="We parse [1], as (2)."))
    assert found.cited(3) == "[3]"


def test_what_stands_behind_the_list_stays_behind() -> None:
    document = draft("[1] Ott. Trees.", "[2] Roy. [CIT]", "[2] Roy. Roots.")
    document.add_paragraph("Figure 1. A tree.", style="Caption")
    document.add_table(1, 1).cell(0, 0).text = "cell"
    document.add_paragraph("Appendix", style="Heading 1")
    document.add_paragraph("More.")
    _, lines, _ = with_new(document)
    assert lines[4:] == [
        "[2] Roy. Roots.",
        "[3] Kim. ACL.",
        "[4] Lee.",
        "Figure 1. A tree.",
        "Appendix",
        "More.",
    ]


@pytest.mark.parametrize(("numbered", "labels"), [(False, ["", ""]), (True, ["[1] ", "[2] "])])
def test_a_list_is_made_where_there_is_none(numbered: bool, labels: list[str]) -> None:
    document = Document()
    document.add_paragraph("Introduction", style="Heading 1").paragraph_format.page_break_before = False
    document.add_paragraph("We parse.")
    found, lines, again = with_new(document, numbered=numbered)
    assert found.heading is None
    assert lines == ["Introduction", "We parse.", "References", f"{labels[0]}Kim. ACL.", f"{labels[1]}Lee."]
    assert [one.style.name for one in again.paragraphs[2:]] == ["Heading 1", "Normal", "Normal"]
    assert again.element.body[-1].tag == qn("w:sectPr")
    empty, lines, _ = with_new(draft(), numbered=numbered)
    assert empty.heading is not None
    assert lines[-2:] == [f"{labels[0]}Kim. ACL.", f"{labels[1]}Lee."]


def test_without_headings_the_new_one_has_the_style_or_is_bold() -> None:
    document = Document()
    document.add_paragraph("We parse.")
    _, _, again = with_new(document)
    assert again.paragraphs[1].style.name == "Heading 1"
    style = next(one for one in document.styles if one.name == "Heading 1")
    style.delete()
    _, _, again = with_new(document)
    assert (again.paragraphs[1].text, again.paragraphs[1].runs[0].bold) == ("References", True)


def test_nothing_is_added_without_references() -> None:
    word = open_word(saved(draft("[1] Ott. Trees.")), "a.docx")
    before = word.document.element.xml
    ReferenceList.of(word, numbered=False).add(word, [])
    assert word.document.element.xml == before


def test_new_entries_stand_behind_the_field_that_makes_the_list() -> None:
    document = draft()
    add_runs(
        document.add_paragraph(),
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>ADDIN ZOTERO_BIBL</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>[1] Ott. Trees.</w:t></w:r>',
    )
    document.add_paragraph("[2] Roy. Roots.")
    add_runs(document.add_paragraph(), '<w:r><w:fldChar w:fldCharType="end"/></w:r>')
    _, lines, _ = with_new(document)
    assert lines[2:] == ["[1] Ott. Trees.", "[2] Roy. Roots.", "", "[3] Kim. ACL.", "[4] Lee."]
    document = draft()
    block = parse_xml(
        f"<w:sdt {nsdecls('w')}><w:sdtContent><w:p><w:r><w:t>Ott. Trees.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    document.element.body.find(qn("w:sectPr")).addprevious(block)
    _, lines, again = with_new(document)
    assert lines[2:] == ["Kim. ACL.", "Lee."]
    assert again.element.body[2].tag == qn("w:sdt")


def test_a_section_that_ends_with_the_list_ends_behind_the_new_entries() -> None:
    document = draft("[1] Ott. Trees.")
    document.add_section(WD_SECTION.NEW_PAGE)
    document.add_paragraph("Another section.")
    last = document.paragraphs[2]._p
    properties = document.paragraphs[3]._p.pPr
    last.get_or_add_pPr().append(properties.find(qn("w:sectPr")))
    document.paragraphs[3]._p.getparent().remove(document.paragraphs[3]._p)
    _, lines, again = with_new(document)
    assert lines[2:] == ["[1] Ott. Trees.", "[2] Kim. ACL.", "[3] Lee.", "Another section."]
    assert [
        one._p.pPr is not None and one._p.pPr.find(qn("w:sectPr")) is not None for one in again.paragraphs
    ] == [*(False, False, False, False, True, False)]
