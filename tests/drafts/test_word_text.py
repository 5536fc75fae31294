"""The text of .docx files, with the elements that hold it."""

from __future__ import annotations

import pytest
from docx import Document
from helpers.word_files import add_notes, add_runs, saved

from cocite.drafts.word_text import children, open_word
from cocite.errors import InputError


def test_paragraphs_with_their_notes_have_places_of_their_own() -> None:
    document = Document()
    paragraph = document.add_paragraph("One")
    add_runs(
        paragraph, '<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
    )
    document.add_paragraph("Two", style="Heading 2")
    add_notes(document, {"2": "<w:r><w:t>A note.</w:t></w:r>"})
    word = open_word(saved(document), "a.docx")
    assert [(one.number, one.start, one.text, one.note) for one in word.paragraphs] == [
        (1, 0, "One", ""),
        (1, 4, "A note.", "footnotes 2"),  # once, though it is referred to twice
        (2, 12, "Two", ""),
    ]
    assert [one.heading_level for one in word.body] == [1, 2]
    assert list(word.notes) == ["word/footnotes.xml"]


def test_pieces_hold_the_characters_of_a_paragraph() -> None:
    document = Document()
    add_runs(
        document.add_paragraph(),
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r><m:oMath><m:r><m:t>x=y</m:t></m:r></m:oMath>"
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>",
    )
    [one] = open_word(saved(document), "a.docx").paragraphs
    assert one.text == "a bx=ynew"
    assert [(one.text[piece.start : piece.end], piece.is_text) for piece in one.pieces] == [
        ("a", True),
        (" ", True),
        ("b", True),
        ("x=y", False),
        ("new", True),
    ]
    assert "del" not in [child.tag.rpartition("}")[2] for child in children(one.element)]


def test_what_is_no_docx_is_refused() -> None:
    with pytest.raises(InputError, match=r"a\.docx: is encrypted, or a \.doc of before 2007"):
        open_word(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.docx")
