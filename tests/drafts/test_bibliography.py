"""What a draft cites, found in a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.builder import build
from cocite.corpus.importers.bibtex import bibtex_papers
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts import bibliography
from cocite.drafts.bibliography import Bibliography, rows_of
from cocite.errors import InputError, NotFoundError
from cocite.protocols import NO_ROW

CORPUS = starter_corpus()


def test_every_paper_of_a_corpus_is_found_by_its_title() -> None:
    papers = [
        PaperRecord("x", paper.title.upper().replace("-", " - "), year=paper.year)
        for paper in CORPUS.papers_at(range(len(CORPUS)))
    ]
    rows = rows_of(papers, CORPUS)
    single = [" " not in paper.title for paper in papers]
    assert [row for row, lone in zip(rows.tolist(), single, strict=True) if not lone] == [
        row for row, lone in enumerate(single) if not lone
    ]


def test_a_doi_counts_before_a_title_and_the_year_decides_between_titles(tmp_path: Path) -> None:
    lines = tmp_path / "papers.jsonl"
    lines.write_text(
        '{"id": "a", "title": "Parsing trees", "year": 1999, "doi": "10.1/AB"}\n'
        '{"id": "b", "title": "Parsing trees", "year": 2003}\n'
        '{"id": "c", "title": "Parsing graphs", "year": 2005, "doi": "10.1/c"}\n'
    )
    corpus = build(NativeJSONL(lines), tmp_path / "corpus")
    wanted = [
        PaperRecord("1", "Parsing trees", doi="10.1/C"),
        PaperRecord("2", "Parsing trees", year=2003),
        PaperRecord("3", "Parsing  Trees!"),
        PaperRecord("4", "Another title", doi="10.1/ab"),
    ]
    assert corpus.ids(rows_of(wanted, corpus)) == ["c", "b", "a", "a"]


@pytest.mark.parametrize("title", ["", "Editorial", "A title that no paper has", "1960"])
def test_what_the_corpus_does_not_hold(title: str) -> None:
    assert rows_of([PaperRecord("x", title)], CORPUS).tolist() == [NO_ROW]
    assert rows_of([], CORPUS).tolist() == []


def test_a_bibliography(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    path.write_text(
        "@inproceedings{vaswani, title = {Attention Is {All} {Y}ou Need}, year = 2017}\n"
        "@misc{vaswani, title = {Another}}\n@misc{gone, title = {A paper of another field}}\n@misc{broken, title = {"
    )
    found = Bibliography.read([path], CORPUS)
    assert sorted(found.entries) == ["gone", "vaswani"]
    [(key, row)] = found.rows.items()
    assert (key, CORPUS.paper(row).title) == ("vaswani", "Attention Is All You Need")
    assert found.key_of(row) == "vaswani"
    assert found.key_of(row + 1) is None
    assert Bibliography.of(bibtex_papers(path.read_bytes()), CORPUS) == found


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bibliography, "MAX_BIB_BYTES", 10)
    (tmp_path / "refs.bib").write_text("@misc{a, title = {A title}}")
    with pytest.raises(InputError, match=r"refs\.bib: has more than"):
        Bibliography.read([tmp_path / "refs.bib"], CORPUS)


def test_a_bibliography_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"gone\.bib: no such file"):
        Bibliography.read([tmp_path / "gone.bib"], starter_corpus())
    with pytest.raises(NotFoundError, match=": is no file"):
        Bibliography.read([tmp_path], starter_corpus())
