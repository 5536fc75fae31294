"""Drafts with their gaps filled."""

from __future__ import annotations

import pytest
from helpers.answered_gaps import answered

from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.completion import Completion, complete
from cocite.drafts.draft import Draft
from cocite.drafts.reading import read_text
from cocite.errors import InputError

CORPUS = starter_corpus()
TITLES = CORPUS.papers.take("title", range(len(CORPUS)))
ATTENTION = TITLES.index("Attention Is All You Need")
BLEU = TITLES.index("BLEU: a Method for Automatic Evaluation of Machine Translation")
NO_BIB = Bibliography({}, {})


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
        ("latex", r"Trees help \needcite. They grow.", r"Trees help \cite{KEY}. They grow."),
        ("latex", r"Trees \citeme and words.", r"Trees \cite{KEY} and words."),
        ("latex", r"Trees \needcite{Lee?} {\em grow}.", r"Trees \cite{KEY} {\em grow}."),
        ("latex", r"Trees \missingcite[now]{b}(c) grow.", r"Trees \cite{KEY}(c) grow."),
        ("latex", r"Trees \todo {cite} grow.", r"Trees \cite{KEY} grow."),
        (
            "latex",
            r"\newcommand{\q}[1]{#1 [?]}A \q {b} c.",
            r"\newcommand{\q}[1]{#1 [?]}A \q {b}~\cite{KEY} c.",
        ),
        (
            "markdown",
            "`[CIT]` and `[@?]` mark: trees [CIT] grow.",
            "`[CIT]` and `[@?]` mark: trees [@KEY] grow.",
        ),
        ("markdown", "> `a\n> [@?]` marks\n> [@?] trees.", "> `a\n> [@?]` marks\n> [@KEY] trees."),
        ("markdown", "Trees [see @lee; @?, p. 3].", "Trees [see @lee; @KEY, p. 3]."),
        ("markdown", "Trees [CIT] and `[CIT]`.", "Trees [@KEY] and `[CIT]`."),
        ("markdown", r"Trees \cite{lee, ?} grow.", r"Trees \cite{lee, KEY} grow."),
        ("markdown", r"Trees \todo{cite} grow.", r"Trees \cite{KEY} grow."),
        ("markdown", "> Trees \\cites{a,\n> ?}{lee}.", "> Trees \\cites{a,KEY}{lee}."),
        ("latex", r"Trees \cites{lee}[3]{?}.", r"Trees \cites{lee}[3]{KEY}."),
        ("latex", r"\def\fix{\cites{?}{lee}}Trees \fix.", r"\def\fix{\cites{?}{lee}}Trees \cite{lee,KEY}."),
        ("text", "Trees (citation needed).", "Trees [@KEY]."),
        ("text", r"Trees \citep[see][]{?} grow.", r"Trees \citep[see][]{KEY} grow."),
    ],
)
def test_every_form_of_a_gap_is_filled(kind: str, before: str, after: str) -> None:
    done = completed(before, kind, [ATTENTION])
    assert done.texts[""] == after.replace("KEY", "vaswani2017attention")
    assert done.unfilled == ()
    again = read_text(done.texts[""], kind)  # type: ignore[arg-type]
    # Plain text has no citations; and what a macro prints itself stays.
    assert kind == "text" or "vaswani2017attention" in {citation.key for citation in again.citations}


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


def test_a_difference_has_the_lines_of_patch() -> None:
    before = "A page.\fThe next [CIT].\nThe end"
    done = Completion({"a.tex": before}, {"a.tex": before.replace("[CIT]", r"\cite{lee}")}, "", "", False, ())
    assert done.diff().split("\n")[3:] == [
        "-A page.\fThe next [CIT].",
        "+A page.\fThe next \\cite{lee}.",
        " The end",
        r"\ No newline at end of file",
        "",
    ]


def test_the_difference() -> None:
    done = completed("One.\n\nTrees [CIT]", "text", [BLEU])
    assert [line for line in done.diff().splitlines()[2:] if line[0] in "+-"] == [
        "-Trees [CIT]",
        "+Trees [@papineni2002bleu]",
    ]


def test_a_draft_without_text_files_has_no_keys() -> None:
    with pytest.raises(InputError, match=r"a\.docx: a \.docx draft has no keys \(use --write alone\)"):
        complete(Draft("docx", "a.docx"), [], NO_BIB, CORPUS)
    with pytest.raises(InputError, match=r"a\.pdf: a \.pdf draft cannot be written"):
        complete(Draft("pdf", "a.pdf"), [], NO_BIB, CORPUS)
