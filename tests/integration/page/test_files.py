"""A draft as a file: dropped on the page, or chosen by a button."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from helpers.page import DRAFT, drop, gap_button, search, settled, titles
from helpers.pdf_files import pdf_file
from helpers.word_files import draft_file

pytestmark = pytest.mark.integration
expect = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tested"
).expect
MAIN = "\\documentclass{article}\n\\begin{document}\nWords are split \\cite{?}.\n\\input{part}\n\\end{document}\n"
PART = "We score with BLEU \\cite{}.\n"


def choose(page: Any, name: str, data: bytes) -> None:
    """Choose a file by the button, with the keyboard."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").press("Enter")
    chooser.value.set_files({"name": name, "mimeType": "application/octet-stream", "buffer": data})


def word_file() -> bytes:
    return draft_file("We score translations with BLEU [CIT]. Words are split into subwords [CIT].")


def zip_file() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("paper/main.tex", MAIN)
        archive.writestr("paper/part.tex", PART)
        archive.writestr("paper/figure.png", b"\x89PNG")
    return buffer.getvalue()


def refused(page: Any) -> str:
    expect(page.locator("#text-error")).to_be_visible()
    return page.locator("#text-error").inner_text()  # type: ignore[no-any-return]


def test_a_text_is_read_in_the_browser_and_undo_brings_the_text_before_back(page: Any) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    text = page.get_by_label("Your text")
    text.fill("What was here.")
    assert drop(page, {}, "dragover") is False, "what holds no file is left to the browser"
    assert drop(page, {"a.tex": b""}, "dragover")
    expect(page.locator("body.dropping")).to_be_visible()
    assert drop(page, {"paper.TEX": MAIN.replace("\n", "\r\n").encode()})
    expect(text).to_have_value(MAIN)
    expect(text).to_be_focused()
    expect(page.locator("#reading")).to_have_text("Reads as a passage with one gap")
    expect(page.locator("#toast")).to_have_text("paper.TEX with one gap.")
    expect(page.locator("body.dropping")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(text).to_have_value("What was here.")
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        text.fill("")
        choose(page, "note.md", "Größe [@?].".encode(encoding))
        expect(text).to_have_value("Größe [@?].")
    assert "POST" not in sent


def test_word_pdf_and_a_zipped_project_become_the_text(page: Any) -> None:
    text = page.get_by_label("Your text")
    choose(page, "paper.docx", word_file())
    expect(text).to_have_value(
        "Neural translation\n\nWe score translations with BLEU [CIT]. Words are split into subwords [CIT]."
    )
    page.get_by_role("button", name="Find papers").click()
    expect(page.locator("#summary")).to_contain_text("for gap 1 of 2")
    settled(page)
    drop(page, {"paper.pdf": pdf_file([[(10, "Words are split into sub-"), (10, "word units [CIT].")]])})
    expect(text).to_have_value("Words are split into subword units [CIT].")
    drop(page, {"paper.zip": zip_file()})
    expect(text).to_have_value(f"{MAIN}\n\n%% part.tex\n{PART}")
    expect(gap_button(page, 2)).to_be_visible()


def test_what_a_file_cites_is_left_out_until_the_author_wants_it(page: Any) -> None:
    attention = "Attention Is All You Need"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(
            "main.tex",
            "\\begin{document}\nTranslation by attention alone \\cite{v}, without recurrence \\cite{?}.\n"
            "\\bibliography{refs}\n\\end{document}\n",
        )
        archive.writestr(
            "refs.bib", f"@inproceedings{{v, title={{{attention}}}, author={{Vaswani, A.}}, year=2017}}"
        )
    drop(page, {"paper.zip": buffer.getvalue()})
    expect(page.get_by_label("Your text")).not_to_have_value("")
    chip = page.get_by_role("button", name=re.compile("Suggest .* your draft cites? too"))
    page.get_by_role("button", name="Find papers").click()
    settled(page)
    expect(chip).to_be_visible()
    assert attention not in titles(page)
    page.reload()
    settled(page)
    expect(chip).to_be_visible()
    chip.click()
    settled(page)
    expect(chip).to_have_count(0)
    assert attention in titles(page)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            {"photo.png": b"\x89PNG"},
            "The file photo.png is none that is read here. Give a draft in .tex, .md",
        ),
        ({"a.txt": b"a\0b"}, "The file a.txt holds no text."),
        ({"a.txt": b" \n"}, "The file a.txt has no text."),
        ({"a.txt": b"x" * 2_000_001}, "The file a.txt has more than 2 MB. Leave out its pictures"),
        ({"a.tex": b"x", "b.tex": b"y"}, "Give one draft at a time, with its .bib files or without"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence_and_the_text_stays(
    page: Any, files: dict[str, bytes], says: str
) -> None:
    search(page, DRAFT)
    drop(page, files)
    assert refused(page).startswith(says)
    expect(page.get_by_label("Your text")).to_have_value(DRAFT)
    expect(page.locator("#reading")).to_have_text("Reads as a passage with 2 gaps")


def test_what_the_server_refuses_is_said_beside_the_text(page: Any, tmp_path: Path) -> None:
    page.get_by_label("Your text").fill(DRAFT)
    drop(page, {"brief.docx": b"no archive"})
    assert refused(page).startswith("The file brief.docx is no .docx: it is no ZIP archive that can be read")
    drop(page, {"large.pdf": b"x" * 6_000_001})
    expect(page.locator("#text-error")).to_contain_text("The file large.pdf has more than 6 MB.")
    expect(page.get_by_label("Your text")).to_have_value(DRAFT)


def test_clear_gives_up_the_file_that_is_being_read(page: Any) -> None:
    held: list[Any] = []
    page.route("**/v1/draft/text", lambda route: held.append(route))
    drop(page, {"paper.docx": word_file()})
    expect(page.locator("#reading")).to_have_text("Reading paper.docx …")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator("#reading")).to_have_text("")
    expect(page.get_by_label("Your text")).to_have_value("")
    expect(page.locator("#text-error")).to_have_count(0)
