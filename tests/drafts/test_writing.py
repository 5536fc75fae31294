"""Completed drafts on the disk: copies, drafts changed in place, archives and patches."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.answered_gaps import answered

from cocite.corpus.importers.bibtex import BibTeX
from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts import archives
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.completion import Completion, complete
from cocite.drafts.draft import Draft
from cocite.drafts.reading import OpenedDraft, open_draft
from cocite.drafts.writing import check_destination, patch_of, write_completion
from cocite.errors import InputError

CORPUS = starter_corpus()
TITLES = CORPUS.papers.take("title", range(len(CORPUS)))
ATTENTION = TITLES.index("Attention Is All You Need")
BLEU = TITLES.index("BLEU: a Method for Automatic Evaluation of Machine Translation")


def filled(path: Path, rows: list[int], main: str = "") -> Completion:
    draft = open_draft(path, main).draft
    return complete(draft, answered(draft, rows), Bibliography({}, {}), CORPUS)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "paper.tex").write_bytes(
        b"N\xe9 \\cite{?}.\r\n\\input{sub/more}\r\n\\bibliography{refs}\r\n"  # Windows-1252
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.tex").write_text("Trees [CIT].\n")
    return tmp_path / "paper.tex"


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_project_is_copied(project: Path) -> None:
    before = content(project.parent)
    done = filled(project, [ATTENTION, BLEU])
    check_destination(project, open_draft(project), copies=True)
    assert write_completion(done, project, in_place=False) == [str(project.with_name("paper-cited"))]
    after = content(project.parent)
    assert {name: data for name, data in after.items() if not name.startswith("paper-cited/")} == before
    assert after["paper-cited/paper.tex"] == (
        b"N\xe9 \\cite{vaswani2017attention}.\r\n\\input{sub/more}\r\n\\bibliography{refs,paper-cited}\r\n"
    )
    assert after["paper-cited/sub/more.tex"] == b"Trees \\cite{papineni2002bleu}.\n"
    papers = list(BibTeX(project.parent / "paper-cited" / "paper-cited.bib"))
    assert [paper.title for paper in papers if isinstance(paper, PaperRecord)] == [
        TITLES[ATTENTION],
        TITLES[BLEU],
    ]
    with pytest.raises(InputError, match=r"paper-cited: is there already, from an earlier --write"):
        check_destination(project, open_draft(project), copies=True)


def test_in_place_only_what_changes_is_written(project: Path) -> None:
    done = filled(project, [-1, BLEU])
    done = replace(done, texts={**done.texts, "paper.tex": done.sources["paper.tex"]})
    stamp = project.stat().st_mtime_ns
    written = write_completion(done, project, in_place=True)
    assert [Path(name).name for name in written] == ["paper-cited.bib", "more.tex"]
    assert project.stat().st_mtime_ns == stamp
    assert (project.parent / "sub" / "more.tex").read_text() == "Trees \\cite{papineni2002bleu}.\n"


def test_entries_that_the_draft_cites_are_not_to_be_removed(project: Path) -> None:
    write_completion(filled(project, [ATTENTION, BLEU]), project, in_place=True)
    with pytest.raises(InputError, match=r"paper-cited\.bib: is there already.* \(the draft cites papers"):
        check_destination(project, open_draft(project), copies=False)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_docx_is_written_as_it_is_given(tmp_path: Path, in_place: bool) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"old")
    opened = OpenedDraft(Draft("docx", "a.docx"))
    check_destination(path, opened, copies=not in_place)
    done = Completion({"a.docx": "A [?]"}, {"a.docx": "A (B)"}, "", "", True, (), b"new")
    target = path if in_place else tmp_path / "a-cited.docx"
    assert write_completion(done, path, in_place=in_place) == [str(target)]
    assert content(tmp_path) == {"a.docx": b"new"} if in_place else {"a.docx": b"old", "a-cited.docx": b"new"}
    if not in_place:
        with pytest.raises(InputError, match=r"a-cited\.docx: is there already, from an earlier --write"):
            check_destination(path, opened, copies=True)


def test_a_pdf_draft_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.pdf: a \.pdf draft cannot be written"):
        check_destination(tmp_path / "a.pdf", OpenedDraft(Draft("pdf", "a.pdf")), copies=False)


@pytest.fixture
def archive(project: Path, tmp_path: Path) -> Path:
    path = tmp_path / "project.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("thesis/", b"")
        target.writestr("thesis/paper.tex", rb"\documentclass{book}" + project.read_bytes())
        target.writestr("thesis/figure.png", b"\x89PNG" * 100)
        target.writestr("thesis/sub/more.tex", "Trees [CIT].\n")
        with pytest.warns(UserWarning, match="Duplicate name"):
            target.writestr("thesis/sub/more.tex", "Another of that name [CIT].\n")
        target.writestr("notes/old.tex", "No part [CIT].")
        target.writestr("../outside.tex", "No part [CIT].")
    return path


def read_zip(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as source:
        assert source.testzip() is None
        return {name: source.read(name) for name in source.namelist()}


@pytest.mark.parametrize("in_place", [False, True])
def test_an_archive_keeps_all_but_what_is_completed(archive: Path, in_place: bool) -> None:
    before = archive.read_bytes()
    opened = open_draft(archive)
    assert opened.folder == "thesis"
    check_destination(archive, opened, copies=not in_place)
    done = filled(archive, [ATTENTION, BLEU])
    [name] = write_completion(done, archive, in_place=in_place, folder="thesis")
    assert name == str(archive if in_place else archive.with_name("project-cited.zip"))
    assert in_place or archive.read_bytes() == before
    after = read_zip(Path(name))
    assert [*after] == [
        *("thesis/", "thesis/paper.tex", "thesis/figure.png", "thesis/sub/more.tex"),
        *("notes/old.tex", "../outside.tex", "thesis/paper-cited.bib"),
    ]
    assert after["thesis/paper.tex"].startswith(
        b"\\documentclass{book}N\xe9 \\cite{vaswani2017attention}.\r\n"
    )
    assert after["thesis/sub/more.tex"] == b"Trees \\cite{papineni2002bleu}.\n"
    assert after["thesis/figure.png"] == b"\x89PNG" * 100
    assert open_draft(Path(name)).draft.gaps == ()
    with pytest.raises(InputError, match="already, from an earlier --write"):
        check_destination(Path(name), open_draft(Path(name)), copies=False)
    if not in_place:
        with pytest.raises(InputError, match=r"project-cited\.zip: is there already"):
            check_destination(archive, opened, copies=True)


def test_an_archive_that_unpacks_to_too_much_is_not_packed(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_REPACKED", 300)
    with pytest.raises(
        InputError, match=r"project\.zip: unpacks to more than 0 MiB \(leave out its pictures"
    ):
        write_completion(filled(archive, [ATTENTION, BLEU]), archive, in_place=False, folder="thesis")
    assert not archive.with_name("project-cited.zip").exists()


@pytest.mark.parametrize("command", [("git", "apply"), ("patch", "-p1", "--binary", "-s", "-i")])
@pytest.mark.parametrize("spaced", [False, True])
def test_a_patch_makes_what_would_be_written_in_place(
    command: tuple[str, ...], spaced: bool, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not there")
    if spaced:
        project = project.rename(project.with_name("my paper.tex"))
    other = tmp_path_factory.mktemp("other") / "project"
    shutil.copytree(project.parent, other)
    done = filled(project, [ATTENTION, BLEU])
    before = content(project.parent)
    patch = tmp_path_factory.mktemp("patch") / "cite.patch"
    patch.write_bytes(patch_of(done, project))
    assert content(project.parent) == before
    subprocess.run([*command, str(patch)], cwd=project.parent, check=True)
    write_completion(done, other / project.name, in_place=True)
    assert content(project.parent) == content(other)


def test_a_patch_of_lines_without_an_end_and_of_an_archive(tmp_path: Path, archive: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("Trees [CIT]")
    patch = patch_of(filled(path, [BLEU]), path).decode()
    assert patch.startswith("--- /dev/null\n+++ b/a-cited.bib\n@@ -0,0 +1,")
    assert patch.endswith(
        "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-Trees [CIT]\n\\ No newline at end of file\n"
        "+Trees [@papineni2002bleu]\n\\ No newline at end of file\n"
    )
    of_archive = patch_of(filled(archive, [-1, BLEU]), archive, "thesis")
    assert b"--- a/thesis/sub/more.tex\n+++ b/thesis/sub/more.tex\n" in of_archive
    quoted = path.rename(tmp_path / 'a"b.md')
    with pytest.raises(
        InputError, match=r'a"b-cited\.bib: a patch cannot name it \(rename it, or use --write\)'
    ):
        patch_of(filled(quoted, [BLEU]), quoted)
