from __future__ import annotations

import os
from pathlib import Path

import pytest

from cocite.corpus.starter import starter_corpus
from cocite_serve.editors import references
from cocite_serve.editors.head import Head, read_head
from cocite_serve.editors.references import NEW_FILE, ReferenceFiles, read_main

CORPUS = starter_corpus()
BLEU = "@misc{ours, title={BLEU: a Method for Automatic Evaluation of Machine Translation}}\n"


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    files, head = ReferenceFiles(CORPUS), Head(bibliographies=("refs", "more.bib", "../secret"))
    found = files.of(tmp_path / "a.tex", head)
    assert (found.bibliography.entries, found.file, found.is_named) == ({}, tmp_path / "refs.bib", True)
    (tmp_path / "refs.bib").write_text(BLEU)
    (tmp_path.parent / "secret.bib").write_text("@misc{secret, title={A b}}")
    found = files.of(tmp_path / "a.tex", head)
    assert found.taken == {"ours"}
    assert CORPUS.ids(list(found.keys_of_rows)) == ["papineni2002bleu"]
    assert files.of(tmp_path / "a.tex", head).bibliography is found.bibliography
    (tmp_path / "more.bib").write_text(BLEU.replace("ours", "theirs"))
    os.utime(tmp_path / "more.bib", ns=(1, 1))
    found = files.of(tmp_path / "a.tex", head)
    assert found.taken == {"ours", "theirs"}
    assert set(found.keys_of_rows.values()) == {"ours"}, "the first file's key counts"


def test_a_file_that_is_no_bibtex_hides_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "refs.bib").write_text(BLEU)
    with (tmp_path / "large.bib").open("wb") as file:
        file.truncate(33 << 20)
    found = ReferenceFiles(CORPUS).of(tmp_path / "a.tex", Head(bibliographies=("large", "refs")))
    assert found.taken == {"ours"}
    assert "large.bib: the file cannot be read as BibTeX" in caplog.text


def test_an_entry_that_the_editor_has_not_saved_is_known(tmp_path: Path) -> None:
    files = ReferenceFiles(CORPUS)
    found = files.of(tmp_path / "a.md", Head())
    assert found.file == tmp_path / NEW_FILE
    assert not found.is_named
    files.add(found.file, "lee99", 3)
    assert files.of(tmp_path / "b.md", Head()).keys_of_rows == {3: "lee99"}
    files.forget(found.file, "lee99")
    assert files.of(tmp_path / "a.md", Head()).taken == set()
    assert files.of(None, Head()).file is None


def test_a_part_has_title_and_references_of_its_main_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "refs.bib").write_text(BLEU)
    main = tmp_path / "main.tex"
    main.write_text("\\documentclass{a}\\title{On BLEU}\\begin{document}\\bibliography{refs}\\end{document}")
    part = tmp_path / "parts" / "data.tex"
    for text in ("\\section{Data}", "% !TEX root = ../main.tex\n\\section{Data}"):
        files, head = ReferenceFiles(CORPUS), read_head(text, "latex")
        assert files.of(part, head).taken == {"ours"}
        assert files.of(part, head).file == tmp_path / "refs.bib"
        assert files.main_head(part, head).title == "On BLEU"
    (tmp_path / "second.tex").write_text("\\documentclass{a}")
    assert ReferenceFiles(CORPUS).of(part, read_head("\\section{Data}", "latex")).taken == set()
    far = read_head("% !TEX root = ../../../../../../main.tex\n", "latex")
    assert ReferenceFiles(CORPUS).of(part, far).taken == set()


def test_a_main_file_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_bytes(b"\0")
    assert read_main(tmp_path / "a.tex") == read_main(tmp_path / "none.tex") == read_main(None) == Head()


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "_KEPT", 2)
    files = ReferenceFiles(CORPUS)
    for number in range(5):
        (tmp_path / f"{number}.bib").write_text(BLEU)
        assert files.of(tmp_path / "a.tex", Head(bibliographies=(str(number),))).taken == {"ours"}
    assert len(files._read) == 2
