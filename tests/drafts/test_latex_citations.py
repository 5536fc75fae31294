"""Commands of LaTeX that cite several groups of keys."""

from __future__ import annotations

import pytest

from cocite.drafts.latex_citations import cites_groups
from cocite.drafts.reading import read_text


@pytest.mark.parametrize(
    ("latex", "sentence", "keys"),
    [
        (r"\cites{lee}{kim} parse.", "[OTHERCIT] parse.", ["lee", "kim"]),
        (r"\parencites[see][3]{lee}[12]{kim} parse.", "[OTHERCIT] parse.", ["lee", "kim"]),
        (
            r"\Autocites(See)(and others)[a][b]{lee, ott} {kim} parse.",
            "[OTHERCIT] parse.",
            ["lee", "ott", "kim"],
        ),
        (r"\footcitetexts{lee}" + "\n" + r"{kim} \emph{parse}.", "[OTHERCIT] parse.", ["lee", "kim"]),
        (r"\textcites{lee}\relax{} {\em parse} it.", "[OTHERCIT] parse it.", ["lee"]),
        (r"\volcite[see]{2}[35]{lee} parses.", "[OTHERCIT] parses.", ["lee"]),
        (r"\pvolcites{1}{lee}[2]{3}[4]{kim} parse.", "[OTHERCIT] parse.", ["lee", "kim"]),
        (r"\cites{lee}{?} parse.", "[OTHERCIT] [CIT] parse.", ["lee"]),
        (r"\newcommand\x[2]{\cites{#1}[see]{#2}} \x{lee}{kim} parse.", "[OTHERCIT] parse.", ["lee", "kim"]),
        (r"\citetext{see \citealp{lee}} parses.", "see [OTHERCIT] parses.", ["lee"]),
        (r"\citetext{L. Lee, unpublished} parses.", "L. Lee, unpublished parses.", []),
        (
            r"\citelist{\cite{lee} \cite{kim}*{p. 3}} parse.",
            "[OTHERCIT] [OTHERCIT]*p. 3 parse.",
            ["lee", "kim"],
        ),
        (r"\citereset We parse.", "We parse.", []),
        (r"Trees \cites", "Trees", []),
        (r"Trees \cites{lee", "Trees [OTHERCIT]", ["lee"]),
    ],
)
def test_all_groups_are_keys(latex: str, sentence: str, keys: list[str]) -> None:
    draft = read_text(latex, "latex")
    assert " ".join(" ".join(one.text for one in draft.sentences).split()) == sentence
    assert [citation.key for citation in draft.citations] == keys


def test_an_empty_line_ends_the_groups() -> None:
    draft = read_text("\\cites{lee}\n\n{Trees} grow.", "latex")
    assert [one.text for one in draft.sentences] == ["[OTHERCIT]", "Trees grow."]


@pytest.mark.parametrize(
    ("latex", "gaps"),
    [
        (r"As \cites{?}{lee} say.", [("?", (), "keys")]),
        (r"As \parencites(see)()[3]{lee}[4]{kim,?} say.", [("kim,?", ("kim",), "keys")]),
        (r"As \cites{}{?} say.", [("", (), "keys"), ("?", (), "keys")]),
        (r"\newcommand\x[1]{\cites{#1}{lee}} As \x{?} say.", [("?", (), "keys")]),
        (r"\newcommand\x{\cites{?}{lee}} As \x{} say.", [(r"\x", ("lee",), "whole")]),
        (r"As \volcite{2}{?} say.", [("?", (), "keys")]),
    ],
)
def test_the_group_without_a_key_is_the_gap(latex: str, gaps: list[tuple[str, tuple[str, ...], str]]) -> None:
    found = read_text(latex, "latex").gaps
    assert [(latex[gap.place.start : gap.place.end], gap.kept, gap.form) for gap in found] == gaps


def test_commands_of_one_group() -> None:
    assert not any(map(cites_groups, ("cite", "citep", "citetext", "citeauthor", "volcite", "footcitetext")))
