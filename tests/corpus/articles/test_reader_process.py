"""A PDF read in a process of its own."""

from __future__ import annotations

import base64

import pytest
from helpers.pdf_files import article_file, encrypted, pdf_file

from cocite.corpus.articles import reader_process
from cocite.corpus.articles.article import article_of
from cocite.corpus.articles.limits import ReadingBudget
from cocite.corpus.articles.pages import read_pages
from cocite.corpus.articles.reader_process import read_article, read_job
from cocite.errors import InputError

PAPER = article_file("Neural parsing of trees", "As [1] says.", ["[1] A. Lee. Trees of languages. 1999."])


def test_the_article_is_that_of_this_process() -> None:
    article = read_article(PAPER, last_year=2030)
    assert article == article_of(read_pages(PAPER, "", budget=ReadingBudget("")), last_year=2030)
    assert (article.title, article.year) == ("Neural parsing of trees", 2020)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "^is no .pdf that can be read"),
        (encrypted(PAPER, "secret"), r"^is encrypted \(save it without a password\)$"),
        (pdf_file([[]]), "^has no text, as a scan has none"),
    ],
)
def test_what_cannot_be_read(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_article(data, last_year=2030)


def test_a_text_is_read_likewise() -> None:
    text = b"Neural parsing of trees\nAnn Lee, 2020\nAbstract\nWe parse.\n1 Introduction\nAs [1] says.\n\fReferences\n"
    article = read_article(text + b"[1] A. Lee. Trees of languages. 1999.\n\f", last_year=2030, is_text=True)
    assert (article.title, article.abstract, article.year) == ("Neural parsing of trees", "We parse.", 2020)
    assert article.references == ("A. Lee. Trees of languages. 1999.",)
    assert article.paragraphs == (("1 Introduction", [("As ", ()), ("[1]", (0,)), (" says.", ())]),)


def test_it_ends_in_time() -> None:
    with pytest.raises(InputError, match=r"^reading the PDF takes more than 1e-05 s \(leave it out, or"):
        read_article(PAPER, last_year=2030, seconds=0.00001)


def test_what_takes_too_much_memory_is_refused() -> None:
    with pytest.raises(InputError, match="^reading the PDF takes more than 4 MiB of memory|than is allowed"):
        read_article(pdf_file([[(10, "word " * 200)] * 2_000]), last_year=2030, memory=4 << 20)


def test_memory_that_runs_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("cocite.corpus.articles.pages.read_pages", exhausted)
    job = {
        "data": base64.b64encode(PAPER).decode(),
        "last_year": 2030,
        "is_text": False,
        "seconds": 60,
        "memory": 1 << 20,
    }
    assert read_job(job)["error"]["message"] == "reading the PDF takes more than 1 MiB of memory"


def test_large_files_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_process, "MAX_FILE_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"^has more than 1 MiB \(leave out its pictures\)$"):
        read_article(b"x" * ((1 << 20) + 1), last_year=2030)
