"""The prose of LaTeX."""

from __future__ import annotations

import pytest

from cocite.drafts.reading import read_text


@pytest.mark.parametrize(
    ("latex", "sentence"),
    [
        (r"Na\"{\i}ve Stra\ss e \& \textit{it} costs 5\%.", "Naïve Straße & it costs 5%."),
        (r"See \href{http://x.org}{our page} and \textcolor{red}{this}.", "See our page and this."),
        (r"As in Figure~\ref{fig:a}\label{x}, \citet{a} parse.", "As in Figure , [OTHERCIT] parse."),
        (r"\newcommand{\two}[2][one]{#1 and #2} We \two{b}, \two[a]{b}.", "We one and b, a and b."),
        (r"We use \begin{equation}a_1 = b\end{equation} here.", "We use $a_1 = b$ here."),
        (r"``Quoted'' \unknown{word} \MyNet{} helps.", "“Quoted” word MyNet helps."),
    ],
)
def test_what_is_printed(latex: str, sentence: str) -> None:
    [found] = read_text(latex, "latex").sentences
    assert " ".join(found.text.split()) == sentence


@pytest.mark.parametrize(
    ("macro", "gap", "form"),
    [
        (r"\newcommand{\x}[1]{\citep{#1}} a \x{?}", "?", "keys"),
        (r"\newcommand{\x}[1]{\emph{#1}} a \x{b \cite{?}}", "?", "keys"),
        (r"\newcommand{\x}[1]{#1 \cite{?}} a \x{b}", r"\x{b}", "after"),
        (r"\newcommand{\x}{\y}\newcommand{\y}{[?]} a \x b", r"\x", "whole"),
        (r"\newcommand{\todo}[1]{\textbf{#1}} a \todo{[?]}", "[?]", "whole"),
    ],
)
def test_a_gap_in_a_macro_has_a_place_in_the_text(macro: str, gap: str, form: str) -> None:
    [found] = read_text(macro, "latex").gaps
    assert macro[found.place.start : found.place.end] == gap
    assert found.form == form


@pytest.mark.parametrize("todo", [r"\todo{cite}", r"\todo[inline]{Add a citation!}", r"\todo{ref?}"])
def test_todos_that_ask_for_a_citation_are_gaps(todo: str) -> None:
    assert len(read_text(f"Trees {todo}.", "latex").gaps) == 1


@pytest.mark.parametrize(
    "todo",
    [r"\todo{rewrite}", r"\todo{more excitement}", r"\nocite{?}", r"\cite{a,}", "$[?]$", r"\verb|[?]|"],
)
def test_what_is_no_gap(todo: str) -> None:
    assert read_text(f"Trees {todo}.", "latex").gaps == ()
