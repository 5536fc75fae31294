"""Finished drafts in .docx."""

from __future__ import annotations

import io
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from docx.shared import Pt
from helpers.answered_gaps import answered
from helpers.reference_styles import BIBLIOGRAPHY, style_of
from helpers.word_files import add_notes, add_runs, field_xml, saved, zotero
from pypdf import PdfReader

from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts.completion import Completion
from cocite.drafts.reading import open_files
from cocite.drafts.reference_styles import ReferenceStyle
from cocite.drafts.style_names import DEFAULT_STYLE
from cocite.drafts.word_completion import author_year, complete_word, fill_word
from cocite.errors import InputError

CORPUS = starter_corpus()
TITLES = CORPUS.papers.take("title", range(len(CORPUS)))
ATTENTION = TITLES.index("Attention Is All You Need")
BLEU = TITLES.index("BLEU: a Method for Automatic Evaluation of Machine Translation")
HARVARD = ReferenceStyle.named(DEFAULT_STYLE)
NUMBERS = ReferenceStyle(style_of(BIBLIOGRAPHY).encode(), "en-US", "numbers")
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def completed(data: bytes, rows: list[int], style: ReferenceStyle = HARVARD) -> tuple[Completion, Any]:
    draft = open_files({"a.docx": data}).draft
    done = complete_word(data, draft, answered(draft, rows), CORPUS, style)
    return done, Document(io.BytesIO(done.document))


def parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def paper() -> Any:
    """A draft with a bit of everything."""
    document = Document()
    document.add_paragraph("Neural parsing", style="Title")
    document.add_paragraph("Introduction", style="Heading 1")
    paragraph = document.add_paragraph("Attention replaced ")
    paragraph.add_run("recurrence [C").bold = True
    paragraph.add_run("I")
    paragraph.add_run("T], as").font.size = Pt(9)
    add_runs(
        paragraph,
        "<m:oMath><m:r><m:t>a=b [?]</m:t></m:r></m:oMath>"
        '<w:r><w:footnoteReference w:id="2"/></w:r>' + field_xml(zotero({"title": "Trees"}), "(Ott, 2001)"),
    )
    paragraph.add_run().add_picture(io.BytesIO(PIXEL))
    document.add_table(1, 1).cell(0, 0).text = "BLEU (see [?])"
    add_notes(document, {"2": "<w:r><w:t>Beam search (citation needed).</w:t></w:r>"})
    document.add_paragraph("References", style="Heading 1")
    document.add_paragraph("Ott, A. (2001) Trees.")
    return document


def test_everything_else_stays(paper: Any) -> None:
    data = saved(paper)
    # The gap in the equation is the second.
    done, again = completed(data, [ATTENTION, BLEU, BLEU, ATTENTION])
    assert done.unfilled == (2,)
    text = [one.text for one in again.paragraphs]
    assert text[2].startswith("Attention replaced recurrence (Vaswani et al., 2017), as")
    assert again.tables[0].cell(0, 0).text == "BLEU (see Papineni et al., 2002)"
    assert text[4] == "Ott, A. (2001) Trees."
    assert [line.partition(" (")[0] for line in text[5:]] == ["Vaswani, A. et al.", "Papineni, K. et al."]
    assert any(run.italic for run in again.paragraphs[5].runs)
    before, after = parts(data), parts(done.document)
    assert list(before) == list(after)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"word/document.xml", "word/footnotes.xml"}
    assert b"Beam search (Vaswani et al., 2017)." in after["word/footnotes.xml"]
    for element in (
        b"<m:oMath>",
        b"a=b [?]",
        b"CSL_CITATION",
        b"<w:drawing>",
        b'<w:footnoteReference w:id="2"/>',
    ):
        assert element in after["word/document.xml"]
    old, new = (Document(io.BytesIO(one)).paragraphs[2].runs for one in (data, done.document))
    assert [(run.bold, run.font.size) for run in old] == [(run.bold, run.font.size) for run in new]
    assert [run.text for run in new][:4] == [
        "Attention replaced ",
        "recurrence (Vaswani et al., 2017)",
        "",
        ", as",
    ]


SOFFICE = shutil.which("soffice")


@pytest.mark.skipif(SOFFICE is None, reason="LibreOffice (libreoffice-writer-nogui) is not installed")
def test_libreoffice_reads_what_was_written(paper: Any, tmp_path: Path) -> None:
    done, _ = completed(saved(paper), [ATTENTION, BLEU, BLEU, ATTENTION])
    (tmp_path / "a.docx").write_bytes(done.document)
    # A profile of its own: another LibreOffice of the user would take the files, and end at once.
    command = [SOFFICE, f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}", "--headless"]
    for form in ("txt:Text", "pdf"):
        convert = ["--convert-to", form, "--outdir", tmp_path, tmp_path / "a.docx"]
        subprocess.run([*command, *convert], check=True, capture_output=True, timeout=300)
    text = (tmp_path / "a.txt").read_text("utf-8-sig").splitlines()
    assert text[2].startswith("Attention replaced recurrence (Vaswani et al., 2017), as")
    assert text[3:6] == ["BLEU (see Papineni et al., 2002)", "References", "Ott, A. (2001) Trees."]
    assert [line.partition(" (")[0] for line in text[6:8]] == ["Vaswani, A. et al.", "Papineni, K. et al."]
    page = "".join(one.extract_text() for one in PdfReader(tmp_path / "a.pdf").pages)
    assert "Beam search (Vaswani et al., 2017)." in page
    # The equation is drawn by LibreOffice Math, a package of its own (libreoffice-math-nogui).
    if (Path(str(SOFFICE)).resolve().parent / "libsmlo.so").exists():
        assert "a=b[?]" in page.replace(" ", "")


def test_the_difference_by_paragraphs(paper: Any) -> None:
    lines = completed(saved(paper), [ATTENTION, -1, -1, -1])[0].diff().splitlines()
    assert lines[:2] == ["--- a.docx", "+++ a.docx"]
    assert [line for line in lines[2:] if line[0] in "+-"] == [
        "-Attention replaced recurrence [CIT], asa=b [?](Ott, 2001)",
        "+Attention replaced recurrence (Vaswani et al., 2017), asa=b [?](Ott, 2001)",
        next(line for line in lines if line.startswith("+Vaswani, A. et al. (2017)")),
    ]


def numbered(*lines: str) -> bytes:
    document = Document()
    for line in lines:
        document.add_paragraph(line)
    document.add_paragraph("References", style="Heading 1")
    document.add_paragraph("[1] Ott, A. Trees. 2001.")
    document.add_paragraph("[2] Roy, B. Roots. 2002.")
    return saved(document)


@pytest.mark.parametrize("style", [HARVARD, NUMBERS], ids=["harvard", "numbers"])
def test_numbers_go_on_and_a_paper_has_one(style: ReferenceStyle) -> None:
    data = numbered("One [2] and [CIT], [?].", "Again [CIT] and [CIT].")
    done, again = completed(data, [BLEU, ATTENTION, BLEU, -1], style)
    text = [one.text for one in again.paragraphs]
    assert text[:2] == ["One [2] and [3], [4].", "Again [3] and [CIT]."]
    assert [line[:13] for line in text[-2:]] == ["[3] Papineni,", "[4] Vaswani, "]
    assert done.unfilled == (4,)
    assert len(text) == 7


def test_several_papers_of_a_gap() -> None:
    text = "Scores [CIT] and words (see [CIT])."
    bleu, attention = CORPUS.papers_at([BLEU, ATTENTION])

    def filled(data: bytes) -> list[str]:
        draft = open_files({"a.docx": data}).draft
        done = fill_word(data, draft, {1: [bleu, attention], 2: [attention]}, HARVARD)
        assert (done.unfilled, len(done.added)) == ((), 2)
        return [one.text for one in Document(io.BytesIO(done.document)).paragraphs]

    first, *_, third, fourth = filled(numbered(text))
    assert first == "Scores [3, 4] and words (see [4])."
    assert (third[:12], fourth[:12]) == ("[3] Papineni", "[4] Vaswani,")
    document = Document()
    document.add_paragraph(text)
    first, *_ = filled(saved(document))
    names = "Papineni et al., 2002; Vaswani et al., 2017"
    assert first == f"Scores ({names}) and words (see Vaswani et al., 2017)."


LISTED = (
    "[4] A. Vaswani et al. Attention is all you need. In NIPS, 2017.",
    "[5] K. Papineni. A method that is called BLEU. 2002.",
)


@pytest.mark.parametrize(
    ("entries", "style", "cited", "last"),
    [
        (LISTED, None, "Scores [6] and words [4].", "[6] Papineni"),
        ([line[4:] for line in LISTED], None, "(Vaswani et al., 2017)", "Papineni, K."),
        ([line[4:] for line in LISTED], "List Number", "Scores [3] and words [1].", "Papineni, K."),
        ([LISTED[0].replace("2017", "").replace("Vaswani", "Lee")], None, "words [6].", "[6] Vaswani,"),
        (["Vaswani, A. (n.d.) “Attention Is All You Need”."], None, "(Vaswani et al., 2017)", "Papineni, K."),
        (
            ["[4] BLEU, https://doi.org/10.3115/1073083.1073135"],
            None,
            "Scores [4] and words [5].",
            "[5] Vaswani,",
        ),
    ],
)
def test_a_paper_that_the_list_has_is_not_added(
    entries: list[str], style: str | None, cited: str, last: str
) -> None:
    document = Document()
    document.add_paragraph("Scores [CIT] and words [CIT].")
    document.add_paragraph("References", style="Heading 1")
    for entry in entries:
        document.add_paragraph(entry, style=style)
    done, again = completed(saved(document), [BLEU, ATTENTION])
    texts = [one.text for one in again.paragraphs]
    assert texts[0].endswith(cited) or cited in texts[0]
    assert texts[-1].startswith(last)
    assert len(done.added) == len(texts) - 2 - len(entries)


def test_without_a_list_the_style_decides_the_form() -> None:
    document = Document()
    document.add_paragraph("One [CIT].")
    done, again = completed(saved(document), [BLEU])
    assert [one.text[:31] for one in again.paragraphs] == [
        "One (Papineni et al., 2002).",
        "References",
        "Papineni, K. et al. (2002) “BLE",
    ]
    done, again = completed(saved(document), [BLEU], NUMBERS)
    assert [one.text[:21] for one in again.paragraphs] == ["One [1].", "References", "[1] Papineni, K., Rou"]
    assert done.bibliography == ""


def test_a_draft_without_papers_is_the_same_file() -> None:
    data = numbered("One [CIT].")
    done, _ = completed(data, [-1])
    assert (done.document, done.diff(), done.unfilled) == (data, "", (1,))


def test_a_file_that_is_not_the_one_that_was_read() -> None:
    data = numbered("One [CIT].")
    draft = open_files({"a.docx": data}).draft
    with pytest.raises(InputError, match=r"a\.docx: has changed since it was read \(try again\)"):
        complete_word(numbered("Another [CIT]."), draft, answered(draft, [BLEU]), CORPUS, HARVARD)


def test_a_file_with_entities_is_not_written() -> None:
    data = numbered("One [CIT].")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts(data).items():
            declared = content.replace(b"?>", b"?><!DOCTYPE x [<!ENTITY e 'x'>]>", 1)
            archive.writestr(name, declared if name == "word/document.xml" else content)
    with pytest.raises(InputError, match=r"a\.docx: declares entities, so that it cannot be written"):
        completed(buffer.getvalue(), [BLEU])


@pytest.mark.parametrize(
    ("authors", "year", "wanted"),
    [
        (("Ann Lee",), 1999, "Lee, 1999"),
        (("Ann Lee", "OpenAI"), 0, "Lee and OpenAI, n.d."),
        (("A B", "C D", "E F"), 2000, "B et al., 2000"),
        ((), 2001, "A title of more characters than stand…, 2001"),
    ],
)
def test_authors_and_year(authors: tuple[str, ...], year: int, wanted: str) -> None:
    paper = PaperRecord("a", "A title of more characters than stand for authors", year=year, authors=authors)
    assert author_year(paper) == wanted
    assert author_year(replace(paper, title="Short", authors=())) == f"Short, {year or 'n.d.'}"


def test_commands_of_latex_are_replaced_and_their_other_keys_stay() -> None:
    document = Document()
    document.add_paragraph(r"Attention \cite{?} and BLEU \citep{lee99, ?}, said \todo{cite} we.")
    done, written = completed(saved(document), [ATTENTION, BLEU, ATTENTION])
    vaswani, papineni = "(Vaswani et al., 2017)", "(Papineni et al., 2002)"
    assert done.unfilled == ()
    assert written.paragraphs[0].text == f"Attention {vaswani} and BLEU lee99, {papineni}, said {vaswani} we."
