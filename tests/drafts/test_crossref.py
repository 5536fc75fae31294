"""Titles of DOIs, asked of a server that answers as Crossref does."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from helpers.crossref_api import FakeCrossref, served, work

from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts import crossref
from cocite.drafts.crossref import crossref_papers
from cocite.drafts.library import Library
from cocite.errors import InputError

CORPUS = starter_corpus()


def papers(monkeypatch: pytest.MonkeyPatch, fake: FakeCrossref, *dois: str) -> dict[str, PaperRecord]:
    with served(fake):
        monkeypatch.setenv("COCITE_CROSSREF_URL", fake.address)
        return crossref_papers(dois)


def test_titles_of_dois(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeCrossref(
        [work("10.1/A", "On <i>BERT</i> &amp; more", 2019), work("10.1/b", ""), work("10.2/z", "Z")]
    )
    found = papers(
        monkeypatch, fake, "10.1/a", "10.1/B", "10.1/gone", "10.1/A", "10.1/a,b", "10.48550/arXiv.1706.03762"
    )
    assert found == {
        "10.1/a": PaperRecord("10.1/a", "On BERT & more", year=2019, doi="10.1/a"),
        "10.1/b": PaperRecord("10.1/b", "", year=2000, doi="10.1/b"),
    }
    assert fake.asked == [["10.1/a", "10.1/b", "10.1/gone"]]


def test_many_are_asked_for_in_parts_and_not_more_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    dois = [f"10.1/{number:03}" for number in range(60)]
    fake = FakeCrossref([work(doi, f"Title {doi}") for doi in dois])
    assert list(papers(monkeypatch, fake, *dois)) == dois
    assert [len(asked) for asked in fake.asked] == [25, 25, 10]
    monkeypatch.setattr(crossref, "MAX_DOIS", 59)
    with pytest.raises(
        InputError, match=r"--lookup: 60 DOIs are to be asked for, more than 59 \(give fewer\)"
    ):
        papers(monkeypatch, fake, *dois)


def test_a_work_that_was_not_asked_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    other = b'{"message": {"items": [{"DOI": "10.1/x", "title": ["X"]}, {"DOI": "10.1/a", "title": 3}, {}]}}'
    assert papers(monkeypatch, FakeCrossref([], raw=other), "10.1/a") == {}


@pytest.mark.parametrize(
    "raw", [b"<html>", b"[1]", b'{"message": 3}', b'{"message": {"items": 3}}', b"\xff", b"[" * 99_999]
)
def test_an_answer_of_another_program(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    with pytest.raises(InputError, match=r"^Crossref: the answer is none of its API \(try again later"):
        papers(monkeypatch, FakeCrossref([], raw=raw), "10.1/a")


def test_an_answer_has_a_greatest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossref, "MAX_ANSWER", 1000)
    with pytest.raises(InputError, match="Crossref: an answer has more than 0 MiB"):
        papers(monkeypatch, FakeCrossref([], raw=b" " * 2000), "10.1/a")


@pytest.mark.parametrize("status", [301, 404, 429, 500])
def test_a_server_that_refuses(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    with pytest.raises(InputError, match=f"Crossref: status {status}"):
        papers(monkeypatch, FakeCrossref([], status=status), "10.1/a")


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # bound and not listening
        taken.bind(("127.0.0.1", 0))
        for address in (f"http://127.0.0.1:{taken.getsockname()[1]}", "no address"):
            monkeypatch.setenv("COCITE_CROSSREF_URL", address)
            with pytest.raises(InputError, match="Crossref: no answer"):
                crossref_papers(["10.1/a"])


def test_a_list_of_dois_is_found_in_a_corpus_without_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lacking = next(
        paper for paper in CORPUS.papers_at(range(len(CORPUS))) if not paper.doi and " " in paper.title
    )
    (tmp_path / "have.txt").write_text("10.5555/Known\n10.5555/unknown\nvaswani2017attention\n")
    with served(FakeCrossref([work("10.5555/known", lacking.title.upper(), lacking.year)])) as fake:
        monkeypatch.setenv("COCITE_CROSSREF_URL", fake.address)
        library = Library.read([tmp_path / "have.txt"], CORPUS, crossref_papers)
        assert {*CORPUS.ids(library.rows)} == {lacking.id, "vaswani2017attention"}
        assert (library.found, library.asked) == (2, 2)
        assert len(Library.read([tmp_path / "have.txt"], CORPUS).rows) == 1
    assert fake.asked == [["10.5555/known", "10.5555/unknown"]]
