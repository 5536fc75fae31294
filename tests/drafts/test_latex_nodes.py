"""Nodes of LaTeX."""

from __future__ import annotations

from cocite.drafts.latex_nodes import Frame, symbol_of
from cocite.drafts.latex_source import LatexSource


def test_symbols() -> None:
    assert [symbol_of(latex) for latex in (r"\ss", r"\'e", "``", r"\MyNet")] == ["ß", "é", "“", "MyNet"]


def test_the_nodes_of_a_macro_have_the_place_of_its_call() -> None:
    source = LatexSource("a.tex", "one\ntwo")
    assert Frame(source).place(4, 7).line == 2
    assert Frame(source, source.place(0, 3)).place(4, 7).line == 1
