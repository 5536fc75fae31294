"""A draft given back as one text."""

from __future__ import annotations

import io

from docx import Document
from helpers.pdf_files import pdf_file

from cocite.drafts.draft import Draft, Gap, Place
from cocite.drafts.draft_text import draft_text, place_in_text
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


def sentences_in_text(draft: Draft) -> list[str | None]:
    """What of the draft's text is found for each of its sentences."""
    text, found = draft_text(draft), []
    for sentence in draft.sentences:
        place = sentence.place or Place(draft.file, sentence.line, 0, 0)
        span = place_in_text(draft, text, Gap(place, "after", (), -1, sentence.text, ""))
        found.append(span and text[span[0] : span[1]])
    return found


def test_sentences_are_found_in_the_text() -> None:
    files = {
        "main.tex": b"% \xe2\x82\xac\n\\input{empty}We \\emph{parse}.\n\\input{part}\\input{sub/more}",
        "empty.tex": b"",
        "part.tex": b'Na\\"ive trees grow.\n',
        "sub/more.tex": b"They help.",
    }
    assert sentences_in_text(open_files(files, "main.tex").draft) == [
        "We \\emph{parse}.",
        'Na\\"ive trees grow.',
        "They help.",
    ]
    document = Document()
    for paragraph in ("A title", "We parse  trees. They grow [CIT]."):
        document.add_paragraph(paragraph)
    buffer = io.BytesIO()
    document.save(buffer)
    assert sentences_in_text(open_files({"a.docx": buffer.getvalue()}).draft) == [
        "We parse trees.",
        "They grow [CIT].",
    ]
    unknown = Gap(Place("a.tex", 1, 0, 0), "after", (), -1, "We.", "")
    assert place_in_text(Draft("latex", "a.tex", sources={"a.tex": "We."}), "We.", unknown) is None
