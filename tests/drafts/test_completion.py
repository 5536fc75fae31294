"""Drafts with their gaps filled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cocite.corpus.importers.bibtex import BibTeX
from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts.advice import GapAdvice
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.completion import Completion, check_destination, complete, write_completion
from cocite.drafts.draft import Draft
from cocite.drafts.reading import read_draft, read_text
from cocite.errors import InputError
from cocite.pipeline.evidence import Evidence
from cocite.pipeline.options import Recommendation

CORPUS = starter_corpus()
TITLES = CORPUS.papers.take("title", range(len(CORPUS)))
ATTENTION = TITLES.index("Attention Is All You Need")
BLEU = TITLES.index("BLEU: a Method for Automatic Evaluation of Machine Translation")
NO_BIB = Bibliography({}, {})


def answered(draft: Draft, rows: list[int]) -> list[GapAdvice]:
    """An answer to each gap: the paper of its row; -1: none."""
    answers = []
    for number, (gap, row) in enumerate(zip(draft.gaps, rows, strict=True), 1):
        paper = Recommendation(row, "", "", (), 0, "", "", "", 1.0, {}, Evidence())
        answers.append(GapAdvice(number, gap, (paper,) if row >= 0 else ()))
    return answers


def completed(text: str, kind: str, rows: list[int], bibliography: Bibliography = NO_BIB) -> Completion:
    draft = read_text(text, kind)  # type: ignore[arg-type]
    return complete(draft, answered(draft, rows), bibliography, CORPUS)


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("latex", r"Trees \citep[see][p.~3]{?}.", r"Trees \citep[see][p.~3]{KEY}."),
        ("latex", r"Trees \cite{lee, ?}.", r"Trees \cite{lee,KEY}."),
        ("latex", r"Trees \cite{}.", r"Trees \cite{KEY}."),
        ("latex", r"Trees \todo[inline]{cite} grow [x].", r"Trees \cite{KEY} grow [x]."),
        ("latex", r"\def\fix{[?]}Trees \fix grow.", r"\def\fix{[?]}Trees \cite{KEY} grow."),
        (
            "latex",
            r"\newcommand{\q}[1]{#1 [?]}A \q{b} c.",
            r"\newcommand{\q}[1]{#1 [?]}A \q{b}~\cite{KEY} c.",
        ),
        ("markdown", "Trees [see @lee; @?, p. 3].", "Trees [see @lee; @KEY, p. 3]."),
        ("markdown", "Trees [CIT] and `[CIT]`.", "Trees [@KEY] and `[CIT]`."),
        ("text", "Trees (citation needed).", "Trees [@KEY]."),
    ],
)
def test_every_form_of_a_gap_is_filled(kind: str, before: str, after: str) -> None:
    done = completed(before, kind, [ATTENTION])
    assert done.texts[""] == after.replace("KEY", "vaswani2017attention")
    assert done.unfilled == ()
    again = read_text(done.texts[""], kind)  # type: ignore[arg-type]
    # Plain text has no citations; and what a macro prints itself stays.
    assert kind == "text" or again.citations[-1].key == "vaswani2017attention"


def test_a_gap_that_a_macro_prints_twice_gets_both_keys() -> None:
    done = completed(r"\def\fix{[?] and [?]}Trees \fix.", "latex", [ATTENTION, BLEU])
    assert done.texts[""].endswith(r"Trees \cite{vaswani2017attention,papineni2002bleu}.")


def test_the_authors_own_key_is_used_and_no_key_is_used_twice() -> None:
    own = Bibliography({"mine": PaperRecord("mine", TITLES[ATTENTION])}, {"mine": ATTENTION})
    done = completed("A [CIT]. B [CIT]. C [CIT].", "markdown", [ATTENTION, BLEU, -1], own)
    assert done.texts[""] == "A [@mine]. B [@papineni2002bleu]. C [CIT]."
    assert done.bibliography.count("@inproceedings") == 1
    assert done.unfilled == (3,)
    taken = Bibliography({"papineni2002bleu": PaperRecord("papineni2002bleu", "Another")}, {})
    assert "@papineni2002bleub]" in completed("B [CIT].", "markdown", [BLEU], taken).texts[""]


def test_without_new_papers_there_are_no_entries() -> None:
    own = Bibliography({"a b": PaperRecord("a b", TITLES[BLEU])}, {"a b": BLEU})
    done = completed("A [CIT].", "markdown", [BLEU], own)
    assert (done.texts[""], done.bibliography) == ("A [@{a b}].", "")


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
    draft = read_draft(project)
    done = complete(draft, answered(draft, [ATTENTION, BLEU]), NO_BIB, CORPUS)
    check_destination(project, draft, in_place=False)
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
        check_destination(project, draft, in_place=False)


def test_in_place_only_what_changes_is_written(project: Path) -> None:
    draft = read_draft(project)
    done = complete(draft, answered(draft, [-1, BLEU]), NO_BIB, CORPUS)
    done = replace(done, texts={**done.texts, "paper.tex": done.sources["paper.tex"]})
    stamp = project.stat().st_mtime_ns
    written = write_completion(done, project, in_place=True)
    assert [Path(name).name for name in written] == ["paper-cited.bib", "more.tex"]
    assert project.stat().st_mtime_ns == stamp
    assert (project.parent / "sub" / "more.tex").read_text() == "Trees \\cite{papineni2002bleu}.\n"


def test_the_difference() -> None:
    done = completed("One.\n\nTrees [CIT]", "text", [BLEU])
    assert done.diff().splitlines()[-2:] == ["-Trees [CIT]", "+Trees [@papineni2002bleu]"]


def test_a_docx_draft_is_not_written(tmp_path: Path) -> None:
    draft = Draft("docx", "a.docx")
    with pytest.raises(InputError, match=r"a\.docx: a \.docx draft cannot be written"):
        complete(draft, [], NO_BIB, CORPUS)
    with pytest.raises(InputError, match=r"cannot be written"):
        check_destination(tmp_path / "a.docx", draft, in_place=True)
