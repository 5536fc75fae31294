"""Drafts in .docx."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from helpers.word_files import MATH, add_notes, add_runs

from cocite.drafts.reading import read_draft
from cocite.drafts.word_text import open_word
from cocite.errors import InputError


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    document = Document()
    document.add_paragraph("Neural parsing", style="Title")
    document.add_paragraph("Abstract", style="Heading 1")
    document.add_paragraph("We parse trees.")
    document.add_paragraph("Introduction", style="Heading 1")
    paragraph = document.add_paragraph("Attention replaced ")
    paragraph.add_run("recurrence [C").bold = True
    paragraph.add_run("IT].")
    paragraph._p.append(parse_xml(f"<m:oMath {MATH}><m:r><m:t>a=b</m:t></m:r></m:oMath>"))
    paragraph._p.append(
        parse_xml(f"<w:del {nsdecls('w')}><w:r><w:delText>gone [CIT]</w:delText></w:r></w:del>")
    )
    paragraph._p.append(parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="2"/></w:r>'))
    table = document.add_table(1, 1)
    table.cell(0, 0).text = "In a table (citation needed)"
    notes = (
        f'<w:footnotes {nsdecls("w")}><w:footnote w:id="2"><w:p><w:r><w:t>Beam search [?].</w:t></w:r></w:p>'
        "</w:footnote></w:footnotes>"
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), kind, notes.encode(), document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    document.save(str(tmp_path / "paper.docx"))
    return tmp_path / "paper.docx"


def test_a_draft(paper: Path) -> None:
    draft = read_draft(paper)
    assert (draft.title, draft.abstract) == ("Neural parsing", "We parse trees.")
    assert [section.title for section in draft.sections] == ["Introduction"]
    assert [(gap.place.line, gap.context) for gap in draft.gaps] == [
        (5, "Attention replaced recurrence TARGETCIT.a=b In a table OTHERCIT"),
        (6, "Attention replaced recurrence OTHERCIT.a=b In a table TARGETCIT"),
        (5, "Beam search TARGETCIT."),
    ]


def test_an_empty_paragraph_does_not_end_the_abstract_and_thanks_are_no_text(tmp_path: Path) -> None:
    document = Document()
    add_runs(
        document.add_paragraph("Neural parsing", style="Title"),
        note := '<w:r><w:footnoteReference w:id="2"/></w:r>',
    )
    document.add_paragraph("Abstract", style="Heading 1")
    document.add_paragraph("")
    document.add_paragraph("We parse trees.")
    document.add_paragraph("Introduction", style="Heading 1")
    add_runs(document.add_paragraph("  They  grow."), note.replace("2", "3"))
    thanks, second = "<w:r><w:t>We thank all [CIT].</w:t></w:r>", "<w:r><w:t>As [?].</w:t></w:r>"
    add_notes(document, {"2": thanks, "3": second})
    document.save(str(tmp_path / "a.docx"))
    draft = read_draft(tmp_path / "a.docx")
    assert draft.abstract == "We parse trees."
    assert [sentence.text for sentence in draft.sentences] == ["We parse trees.", "They grow.", "As [CIT]."]
    [gap] = draft.gaps
    text = "\n".join(one.text for one in open_word((tmp_path / "a.docx").read_bytes(), "a.docx").paragraphs)
    assert text[gap.place.start : gap.place.end] == "[?]"


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.docx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w") as file,
    ):
        for _ in range(13):
            file.write(b" " * (1 << 20))
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match=r"bomb\.docx: unpacks to more than 64 MiB, or 12 MiB of text"):
        read_draft(path)


def test_entities_are_not_expanded(paper: Path) -> None:
    path = paper.with_name("entities.docx")
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
        f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(9)
    )
    with zipfile.ZipFile(paper) as old, zipfile.ZipFile(path, "w") as new:
        for part in old.infolist():
            data = old.read(part)
            if part.filename == "word/document.xml":
                data = data.replace(b"?>", b"?>" + bomb.encode() + b"]>", 1).replace(b"We parse", b"&j;")
            new.writestr(part.filename, data)
    try:
        draft = read_draft(path)
    except InputError as error:
        assert "is no .docx that can be read" in str(error)  # noqa: PT017
    else:
        assert len(draft.abstract) < 100


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"plain text"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "draft.docx"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"draft\.docx: is no \.docx"):
        read_draft(path)


def test_an_archive_that_is_no_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "draft.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(InputError, match=r"is no \.docx that can be read \(save it anew in Word\)"):
        read_draft(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(InputError, match="packed in an unusual way"):
        read_draft(path)
