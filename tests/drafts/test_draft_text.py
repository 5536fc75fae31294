"""A draft given back as one text."""

from __future__ import annotations

import io

from docx import Document
from helpers.pdf_files import pdf_file

from cocite.drafts.draft_text import draft_text
from cocite.drafts.reading import open_files


def test_word_gives_title_headings_and_paragraphs() -> None:
    document = Document()
    document.add_paragraph("Neural parsing", style="Title")
    document.add_paragraph("Abstract", style="Heading 1")
    document.add_paragraph("We parse trees. They grow.")
    document.add_paragraph("Introduction", style="Heading 1")
    document.add_paragraph("Attention replaced recurrence [CIT].")
    document.add_paragraph("Beam search helps (citation needed). So it is.")
    document.add_paragraph("Outlook", style="Heading 1")
    buffer = io.BytesIO()
    document.save(buffer)
    assert draft_text(open_files({"paper.docx": buffer.getvalue()}).draft).split("\n\n") == [
        "Neural parsing",
        "We parse trees. They grow.",
        "Introduction",
        "Attention replaced recurrence [CIT].",
        "Beam search helps [CIT]. So it is.",
        "Outlook",
    ]


def test_a_pdf_gives_the_text_of_its_pages() -> None:
    data = pdf_file([[(10, "Words are split into sub-"), (10, "word units [CIT].")]])
    assert "Words are split into subword units [CIT]." in draft_text(open_files({"a.pdf": data}).draft)


def test_a_project_gives_its_files_as_they_are() -> None:
    main = "\\documentclass{article}\n% a comment\n\\input{part}\nWe \\emph{parse} \\cite{?}.\n"
    part = "Trees grow \\citep[see][]{?}.\n"
    draft = open_files({"main.tex": main.encode(), "part.tex": part.encode(), "no.tex": b"x"}).draft
    assert draft_text(draft) == f"{main}\n\n%% part.tex\n{part}"
    text = "# Parsing\n\nWe parse [@?] as others [@lee].\n"
    assert draft_text(open_files({"a.md": text.encode()}).draft) == text
