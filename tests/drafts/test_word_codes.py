"""The codes of citations, in the order of the text."""

from __future__ import annotations

import json

from docx import Document
from helpers.word_files import (
    add_notes,
    add_properties,
    add_runs,
    bookmark_xml,
    control_xml,
    field_xml,
    mendeley_tag,
    saved,
)

from cocite.drafts.word_codes import CSL, citation_codes
from cocite.drafts.word_text import open_word

RUN = "<w:r><w:t>(1)</w:t></w:r>"


def codes(document: object) -> list[tuple[int, str]]:
    return [
        (paragraph.number, code) for paragraph, code in citation_codes(open_word(saved(document), "a.docx"))
    ]


def test_fields_controls_and_bookmarks_come_in_the_order_of_the_text() -> None:
    document = Document()
    add_properties(
        document, {"ZOTERO_BREF_a_2": "b}", "ZOTERO_BREF_a_1": "ZOTERO_ITEM CSL_CITATION {a", "Other": "x"}
    )
    paragraph = document.add_paragraph("A ")
    add_runs(
        paragraph,
        control_xml(mendeley_tag(), RUN) + field_xml(" PAGE ", "7") + bookmark_xml("ZOTERO_BREF_a", "(2)"),
    )
    add_notes(document, {"2": control_xml(mendeley_tag(), RUN)})
    add_runs(paragraph, '<w:r><w:footnoteReference w:id="2"/></w:r>')
    first, second, third, note = codes(document)
    assert json.loads(first[1].removeprefix(CSL))["citationItems"] == []
    assert [second, third] == [(1, " PAGE "), (1, f"{CSL}{{ab}}")]
    assert note == first


def test_what_holds_nothing_is_half_an_object() -> None:
    document = Document()
    controls = control_xml("MENDELEY_CITATION_v3_", RUN) + control_xml("Date", RUN)
    add_runs(
        document.add_paragraph(), controls + bookmark_xml("ZOTERO_BREF_b", "(2)") + bookmark_xml("_Ref1", "x")
    )
    assert codes(document) == [(1, CSL + "{"), (1, CSL + "{")]
