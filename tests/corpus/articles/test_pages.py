"""The lines of a PDF's pages."""

from __future__ import annotations

import time

import pytest
from helpers.pdf_files import described, encrypted, pdf_file

from cocite.corpus.articles import limits, pages
from cocite.corpus.articles.layout import PDFPages
from cocite.corpus.articles.limits import ReadingBudget
from cocite.corpus.articles.pages import read_pages
from cocite.errors import InputError

PAPER = [[(18, "Neural parsing"), (10, "We  parse trees, as others do."), (10, "1")], [(10, "It helps.")]]


def read(data: bytes, **budget: float) -> PDFPages:
    return read_pages(data, "paper.pdf", budget=ReadingBudget("paper.pdf", **budget))  # type: ignore[arg-type]


def test_lines_and_the_largest_letters() -> None:
    found = read(pdf_file(PAPER))
    assert found.lines == [["Neural parsing", "We parse trees, as others do.", "1"], ["It helps."]]
    assert (found.title, found.named, found.created) == ("Neural parsing", "", 0)


def test_the_metadata() -> None:
    found = read(described(pdf_file(PAPER), Title=" On  trees ", CreationDate="D:20190314120000Z"))
    assert (found.named, found.created) == ("On trees", 2019)
    found = read(described(pdf_file(PAPER), Title="x" * 251, CreationDate="some day in 2019"))
    assert (found.named, found.created) == ("", 0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", r"^paper\.pdf: is no \.pdf that can be read"),
        (pdf_file(PAPER)[:300], r"^paper\.pdf: is no \.pdf that can be read"),
        (encrypted(pdf_file(PAPER), "secret"), r"^paper\.pdf: is encrypted \(save it without a password\)"),
        (pdf_file([[], []]), r"^paper\.pdf: has no text, as a scan has none"),
        (pdf_file([[]] * 401), r"^paper\.pdf: has 401 pages, more than 400"),
    ],
)
def test_what_cannot_be_read(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(data)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="reading the PDF takes more than 5 s"):
        read(pdf_file(PAPER), seconds=5, begin=time.monotonic() - 6)
    with pytest.raises(InputError, match="the PDF has more than 2 MiB of text"):
        read(pdf_file(PAPER), bytes=limits.MAX_TEXT_BYTES - 10)
    monkeypatch.setattr(pages, "MAX_PAGE_BYTES", 100)
    with pytest.raises(InputError, match=r"paper\.pdf: page 1 has more than"):
        read(pdf_file(PAPER))


def test_what_takes_too_much_memory_is_no_damaged_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError("no room for a page")

    monkeypatch.setattr(pages, "PdfReader", exhausted)
    with pytest.raises(MemoryError, match="no room for a page"):
        read(pdf_file(PAPER))


def test_a_text_is_cleaned() -> None:
    assert pages.clean("eﬃcient \ud800") == "efficient ?"
