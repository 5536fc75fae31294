"""Texts that another program took out of PDFs."""

from __future__ import annotations

import pytest

from cocite.corpus.articles import limits, text_pages
from cocite.corpus.articles.limits import ReadingBudget
from cocite.corpus.articles.text_pages import read_text_pages
from cocite.errors import InputError


def lines(data: bytes) -> list[list[str]]:
    return read_text_pages(data, "a.txt", budget=ReadingBudget("a.txt")).lines


def test_pages_end_at_form_feeds_and_lines_have_single_spaces() -> None:
    text = "\ufeffOn   \ufb01nite trees\r\n\r\n  We\tdraw.\fMore\u2028lines.\f\fLast."
    assert lines(text.encode()) == [["On finite trees", "We draw."], ["More", "lines."], [], ["Last."]]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", r"^a\.txt: has no text"),
        (b"\f \n\f", r"^a\.txt: has no text"),
        ("Über".encode("latin-1"), r"^a\.txt: is no text in UTF-8 \(convert it"),
        (b"a\0b", r"^a\.txt: is no text: it holds null characters"),
        (b"a" * (limits.MAX_TEXT_BYTES + 1), r"^a\.txt: the PDF has more than 2 MiB of text"),
    ],
)
def test_what_cannot_be_read(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        lines(data)


def test_a_text_has_as_many_pages_as_a_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_pages, "MAX_PAGES", 2)
    assert len(lines(b"a\fb\f")) == 2
    with pytest.raises(InputError, match=r"^a\.txt: has 3 pages, more than 2"):
        lines(b"a\fb\fc\f")
