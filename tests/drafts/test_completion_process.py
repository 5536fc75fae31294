"""A draft completed in a process of its own."""

from __future__ import annotations

import io

import pytest
from docx import Document

from cocite.corpus.records import PaperRecord
from cocite.drafts.completion import GapPaper
from cocite.drafts.completion_process import complete_apart
from cocite.errors import InputError

LEE = GapPaper(PaperRecord("a", "On trees", year=1999, authors=("Ann Lee",)), "lee99")


def test_files_keep_their_names_their_encoding_and_their_ends_of_lines() -> None:
    files = {
        "./a/main.tex": "\\documentclass{article}\r\nN\u00e9 \\cite{?}.\r\n\\bibliography{b}\r\n".encode(
            "cp1252"
        )
    }
    done = complete_apart(files, "", {1: [LEE]}, seconds=300)
    [(name, data)] = done.files.items()
    assert (name, done.bib_name, done.is_linked, done.unfilled) == (
        "./a/main.tex",
        "main-cited.bib",
        True,
        (),
    )
    assert data.decode("cp1252") == (
        "\\documentclass{article}\r\nN\u00e9 \\cite{lee99}.\r\n\\bibliography{b,main-cited}\r\n"
    )
    assert done.bib.startswith("@misc{lee99,")
    assert "+Né \\cite{lee99}." in done.diff


def test_a_paper_that_the_bibliography_has_is_no_new_entry() -> None:
    done = complete_apart(
        {"a.md": b"Trees [@?] and [@?]."}, "", {2: [GapPaper(LEE.paper, "lee", False)]}, seconds=300
    )
    assert (done.files, done.bib, done.unfilled) == ({"a.md": b"Trees [@?] and [@lee]."}, "", (1,))


def test_a_word_file_gets_citations_as_text() -> None:
    word = Document()
    word.add_paragraph("Trees [CIT].")
    buffer = io.BytesIO()
    word.save(buffer)
    done = complete_apart({"a.docx": buffer.getvalue()}, "", {1: [LEE]}, seconds=300)
    made = Document(io.BytesIO(done.files["a.docx"]))
    assert [one.text for one in made.paragraphs] == [
        "Trees (Lee, 1999).",
        "References",
        "Lee, A. (1999) “On trees”.",
    ]
    assert (done.bib, done.unfilled) == ("", ())


def test_several_papers_of_a_gap_and_a_style() -> None:
    kim = GapPaper(PaperRecord("b", "On roots", year=2001, authors=("Bo Kim",)), "kim01")
    done = complete_apart({"a.md": b"Trees [@?]."}, "", {1: [LEE, kim]}, seconds=300)
    assert done.files == {"a.md": b"Trees [@lee99; @kim01]."}
    assert done.bib.count("@") == 2
    word = Document()
    word.add_paragraph("Trees [CIT].")
    buffer = io.BytesIO()
    word.save(buffer)
    files = {"a.docx": buffer.getvalue()}
    done = complete_apart(files, "", {1: [LEE, kim]}, style="ieee", seconds=300)
    made = Document(io.BytesIO(done.files["a.docx"]))
    assert [one.text for one in made.paragraphs] == [
        "Trees [1, 2].",
        "References",
        "[1] A. Lee, “On trees”, 1999.",
        "[2] B. Kim, “On roots”, 2001.",
    ]
    with pytest.raises(InputError, match="none: no such file or style .*some are acl"):
        complete_apart(files, "", {1: [LEE]}, style="none", seconds=300)


def test_it_ends_in_time_and_errors_come_back_whole() -> None:
    with pytest.raises(InputError, match=r"takes more than 1e-05 s \(shorten it\)"):
        complete_apart({"a.tex": b"\\documentclass{article} We \\cite{?}."}, "", {1: [LEE]}, seconds=0.00001)
    with pytest.raises(InputError, match=r"^a\.txt: the draft has no text"):
        complete_apart({"a.txt": b""}, "", {}, seconds=300)
