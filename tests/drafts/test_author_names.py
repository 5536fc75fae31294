"""The authors that drafts name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc.latexwalker import LatexWalker

from cocite.drafts.author_names import MAX_AUTHORS, latex_authors, listed_authors


def authors_of(source: str) -> tuple[str, ...]:
    return latex_authors(LatexWalker(source).get_latex_nodes()[0])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"Ann Lee \and Bo {\L}ukasz", ("Ann Lee", "Bo Łukasz")),
        (
            r"Ann Lee\thanks{Equal work.} \\ Some University \And Jos\'{e} Ruiz \\ New York",
            ("Ann Lee", "José Ruiz"),
        ),
        (
            r"\textbf{Ann Lee}$^{1}$ \quad Bo Kim$^2$ \\ Cy \"Ozil \\ $^1$University",
            ("Ann Lee", "Bo Kim", "Cy Özil"),
        ),
        (r"Ann Lee\inst{1,2}\orcidID{0000} \and Bo Kim\inst{1}", ("Ann Lee", "Bo Kim")),
        (r"\IEEEauthorblockN{Ann Lee}\IEEEauthorblockA{A Place}", ("Ann Lee",)),
        ("Ann Lee, Bo~Kim and Cy D. Wu", ("Ann Lee", "Bo Kim", "Cy D. Wu")),
        (r"{\bf Ann Lee} \\ {\tt ann@example.org} \And Ann Lee \\", ("Ann Lee",)),
        (r"Anonymous", ()),
        (r"", ()),
    ],
)
def test_latex(source: str, expected: tuple[str, ...]) -> None:
    assert authors_of(source) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Ann Lee and Bo Kim", ("Ann Lee", "Bo Kim")),
        (["Ann Lee", {"name": "Bo Kim", "affiliation": "Some Place"}], ("Ann Lee", "Bo Kim")),
        ([{"affiliation": "Some Place"}, 3, None], ()),
        ({"name": "Ann Lee"}, ("Ann Lee",)),
        (None, ()),
        (1999, ()),
    ],
)
def test_front_matter(value: Any, expected: tuple[str, ...]) -> None:
    assert listed_authors(value) == expected


def test_at_most_so_many() -> None:
    many = " and ".join(f"Ann L{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(2 * MAX_AUTHORS))
    assert len(authors_of(many)) == MAX_AUTHORS
    assert len(listed_authors(["Ann Lee"] * (2 * MAX_AUTHORS))) == 1


@given(st.text(alphabet="AB le\\{}$^,;&~%[]\n", max_size=60))
def test_any_text_is_read(source: str) -> None:
    nodes, *_ = LatexWalker(source, tolerant_parsing=True).get_latex_nodes()
    assert all(len(name.split()) > 1 for name in latex_authors(nodes))
