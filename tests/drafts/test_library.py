"""Lists of ids and libraries of reference managers, found in a corpus."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cocite.corpus import bibtex, csl_json, ris
from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import Corpus
from cocite.drafts import library
from cocite.drafts.library import Library
from cocite.errors import InputError, NotFoundError

STARTER = starter_corpus()
PAPERS = [
    PaperRecord("P02-1040", "BLEU: a Method", doi="10.3115/1073083.1073135"),
    PaperRecord("W1", "Attention Is All You Need", year=2017, doi="10.48550/arXiv.1706.03762"),
    PaperRecord("arXiv:1810.04805", "BERT"),
    PaperRecord("W3", "Layer Normalization", venue="arXiv preprint arXiv:1607.06450 [stat.ML]"),
    PaperRecord("W4", "An old one", doi="10.48550/arxiv.cs/0205070"),
    PaperRecord("W5", "Of the Anthology", doi="10.18653/v1/2020.acl-main.1"),
    PaperRecord("2021.naacl-main.7", "Without a DOI"),
    PaperRecord("11706.03762", "A number that holds another"),
    PaperRecord("13756489", "Of Semantic Scholar"),
    PaperRecord("S2:13756490", "Of Semantic Scholar, beside other sources"),
    PaperRecord("0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "Of Semantic Scholar by its hash"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(PAPERS, tmp_path_factory.mktemp("library") / "corpus")


def ids_of(corpus: Corpus, folder: Path, text: str, name: str = "have.txt") -> list[str]:
    (folder / name).write_text(text)
    return corpus.ids(Library.read([folder / name], corpus).rows)


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ("P02-1040", "P02-1040"),
        ("https://aclanthology.org/P02-1040/", "P02-1040"),
        ("https://aclanthology.org/P02-1040.pdf", "P02-1040"),
        ("10.3115/1073083.1073135", "P02-1040"),
        ("doi: 10.3115/1073083.1073135", "P02-1040"),
        ("https://doi.org/10.48550/ARXIV.1706.03762", "W1"),
        ("1706.03762", "W1"),
        ("arXiv:1706.03762v5", "W1"),
        ("arxiv.org/abs/1706.03762", "W1"),
        ("https://arxiv.org/pdf/1706.03762v5.pdf", "W1"),
        ("1810.04805", "arXiv:1810.04805"),
        ("10.48550/arXiv.1810.04805", "arXiv:1810.04805"),
        ("arXiv:1607.06450", "W3"),
        ("cs/0205070", "W4"),
        ("https://arxiv.org/abs/cs/0205070v1", "W4"),
        ("2020.acl-main.1", "W5"),
        ("https://aclanthology.org/2020.acl-main.1", "W5"),
        ("10.18653/v1/2021.naacl-main.7", "2021.naacl-main.7"),
        ("https://doi.org/10.3115/1073083.1073135", "P02-1040"),
        ("http://dx.doi.org/10.3115/1073083.1073135", "P02-1040"),
        ("https://aclanthology.org/P02-1040.bib", "P02-1040"),
        ("https://arxiv.org/abs/1706.03762v7", "W1"),
        ("https://arxiv.org/abs/1706.03762v7?context=cs", "W1"),
        ("https://arxiv.org/html/1706.03762v7", "W1"),
        ("13756489", "13756489"),
        ("CorpusId:13756489", "13756489"),
        ("CorpusID: 13756489", "13756489"),
        ("S2:13756489", "13756489"),
        ("S2:13756490", "S2:13756490"),
        ("https://api.semanticscholar.org/CorpusID:13756490", "S2:13756490"),
        ("https://openalex.org/W1", "W1"),
        ("https://api.openalex.org/works/w1", "W1"),
        ("https://api.semanticscholar.org/CorpusID:13756489", "13756489"),
        ("https://www.semanticscholar.org/p/13756489", "13756489"),
        ("api.semanticscholar.org/graph/v1/paper/CorpusId:13756489?fields=title", "13756489"),
        (
            "https://www.semanticscholar.org/paper/On-S2/0A1b2c3d4e5f60718293a4b5c6d7e8f901234567#citing-papers",
            "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
        ),
        ("semanticscholar.org/paper/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", PAPERS[-1].id),
        ("  W4  ", "W4"),
        ("\ufeffW4\r", "W4"),
    ],
)
def test_an_id_in_each_form(corpus: Corpus, tmp_path: Path, line: str, id_: str) -> None:
    assert ids_of(corpus, tmp_path, line + "\n") == [id_]


@pytest.mark.parametrize(
    "line",
    [
        *("", "# W1", "w1", "1706.0376", "706.03762", "Layer Normalization", "10.1/none", "http://"),
        *("CorpusId:1375648", "https://www.semanticscholar.org/author/13756489", "S2:W1"),
    ],
)
def test_what_is_no_id_of_a_paper(corpus: Corpus, tmp_path: Path, line: str) -> None:
    assert ids_of(corpus, tmp_path, line + "\n") == []


@given(st.lists(st.text(max_size=40), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_lines_are_read_or_refused_in_a_sentence(
    corpus: Corpus, tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "any.txt"
    path.write_bytes("\n".join([*lines, "W5"]).encode("utf-8", "surrogatepass"))
    try:
        found = Library.read([path], corpus)
    except InputError as error:
        found, refusal = None, str(error)
    if found is None:
        assert "any.txt, line" in refusal
        return
    assert found.found <= found.entries
    assert "W5" in corpus.ids(found.rows)


@pytest.mark.parametrize(("suffix", "form"), [("bib", bibtex), ("ris", ris), ("json", csl_json)])
def test_a_library_holds_what_it_was_written_from(tmp_path: Path, suffix: str, form: Any) -> None:
    papers = [paper for paper in STARTER.papers_at(range(0, len(STARTER), 7)) if " " in paper.title]
    path = tmp_path / f"all.{suffix}"
    path.write_text(form.entries(papers))
    found = Library.read([path], STARTER)
    assert STARTER.ids(found.rows) == [paper.id for paper in papers]
    assert (found.entries, found.found, found.unread) == (len(papers), len(papers), 0)


def test_a_library_of_endnote(corpus: Corpus, tmp_path: Path) -> None:
    def record(title: str, doi: str = "") -> str:
        number = f"<electronic-resource-num>{doi}</electronic-resource-num>"
        return f"<record><titles><title><style>{title}</style></title></titles>{number}</record>"

    records = (
        record("Layer normalization") + record("Other words", "10.48550/arXiv.1706.03762") + record("New")
    )
    text = f"<?xml version='1.0'?><xml><records>{records}</records></xml>"
    assert ids_of(corpus, tmp_path, text, "My.xml") == ["W1", "W3"]


def test_a_key_of_a_library_is_no_id(corpus: Corpus, tmp_path: Path) -> None:
    text = "@misc{W3, title = {Of another field}}\n@misc{x, title={T}, eprint={1706.03762}, eprinttype={arxiv}}\n"
    assert ids_of(corpus, tmp_path, text, "refs.bib") == ["W1"]


def test_several_files_one_of_them_compressed(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(gzip.compress(b"W1\nnobody\n"))
    (tmp_path / "two.bib").write_text(
        "@misc{a, title={Layer normalization}}\n@misc{b, title={Attention is all"
    )
    found = Library.read([tmp_path / "one.txt", tmp_path / "two.bib"], corpus)
    assert (corpus.ids(found.rows), found.entries, found.found, found.unread) == (["W1", "W3"], 3, 2, 1)
    assert Library.read([], corpus) == library.NO_LIBRARY


def test_what_is_refused(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(match: str, data: bytes, name: str = "have.txt") -> None:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match=match):
            Library.read([tmp_path / name], corpus)

    with pytest.raises(NotFoundError, match=r"gone\.txt: no such file"):
        Library.read([tmp_path / "gone.txt"], corpus)
    with pytest.raises(InputError, match="is not a file"):
        Library.read([tmp_path], corpus)
    refused(r"have\.txt, line 2: longer than 1,000 bytes", b"W1\n" + b"x" * 1001)
    refused(r"have\.txt, line 1: not valid UTF-8", b"caf\xe9\n")
    refused(r"have\.txt, line 1: not a text file", b"a\0b\n")
    refused("holds no entry of csl-json", b"[]", "none.json")
    refused("the outermost element is <html>, not <xml>", b"<html/>", "page.xml")
    refused("holds no entry of endnote", b"<xml><records/></xml>", "none.xml")
    refused("the DOCTYPE holds declarations", b'<!DOCTYPE xml [<!ENTITY a "b">]><xml/>', "bomb.xml")
    monkeypatch.setattr(library, "MAX_ENTRIES", 2)
    refused("more than 2 papers", b"a\nb\nc\n")
    refused("more than 2 papers", b"@misc{a, title={T}}\n" * 3, "refs.bib")
    monkeypatch.setattr(library, "MAX_BYTES", 100)
    refused("has more than 0 MiB", b"a\n" * 51)
    refused("unpacks to more than 0 MiB", gzip.compress(b"#\n" * 500, mtime=0))
