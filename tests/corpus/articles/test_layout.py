"""Paragraphs and headings of lines."""

from __future__ import annotations

import pytest

from cocite.corpus.articles.layout import (
    Line,
    Part,
    ends_paragraph,
    is_plain_heading,
    joined,
    parts_of,
    usual_length,
    without_margins,
)


@pytest.mark.parametrize(
    ("before", "line", "both"),
    [
        ("the gram-", "mar", "the grammar"),
        ("state-of-the-", "art", "state-of-the-art"),
        ("soft\u00ad", "ware", "software"),
        ("the Smith-", "Jones", "the Smith- Jones"),
        ("in 1999-", "2001", "in 1999- 2001"),
        ("", "word", "word"),
    ],
)
def test_the_end_of_a_line(before: str, line: str, both: str) -> None:
    assert joined(before, line) == both


def test_what_repeats_at_the_edges_is_left_out() -> None:
    pages = [["ACL 2020", f"Text {n}.", "ACL 2020", "more", f"- {n} -"] for n in range(3)]
    assert [line.text for line in without_margins(pages)][:3] == ["Text 0.", "ACL 2020", "more"]
    two = list(without_margins(pages[:2]))
    assert (two[0], two[-1]) == (Line(1, "ACL 2020"), Line(2, "more"))


def test_parts() -> None:
    lines = [
        Line(1, "Trees"),
        Line(1, "Abstract"),
        Line(1, "We parse the sentences of many languages with"),
        Line(1, "one model."),
        Line(1, "It is small."),
        Line(1, "1 Introduction"),
        Line(1, "Trees are old, and they were drawn by hand in"),
        Line(2, "2 Languages, and then by machines. As it is known"),
        Line(2, "by all. So"),
        Line(2, "References"),
        Line(2, "[1] Lee."),
    ]
    assert list(parts_of(lines, "Trees")) == [
        Part("abstract", "We parse the sentences of many languages with one model.", 1),
        Part("abstract", "It is small.", 1),
        Part("heading", "1 Introduction", 1),
        Part(
            "paragraph",
            "Trees are old, and they were drawn by hand in 2 Languages, and then by machines. As it is known by all. "
            "So",
            1,
        ),
        Part("heading", "References", 2),
        Part("paragraph", "[1] Lee.", 2),
    ]
    kinds = [part.kind for part in parts_of(lines, "Trees", is_heading=lambda _: False)]
    assert kinds == ["abstract", "abstract", "abstract", "heading", "paragraph"]
    kinds = [part.kind for part in parts_of(lines, "Trees", is_own=lambda line: line.startswith("We"))]
    assert kinds[:2] == ["paragraph", "heading"]


def test_a_paragraph_is_not_endless() -> None:
    lines = [Line(1, "word " * 20)] * 400
    assert len(list(parts_of(lines))) == 3
    assert list(parts_of([])) == []


def test_lengths() -> None:
    lines = [Line(1, "x" * n) for n in (10, 60, 60, 60, 60)]
    assert (usual_length(lines), usual_length([])) == (60, 0)
    assert ends_paragraph("So it is.", 60)
    assert not ends_paragraph("So it is", 60)
    assert not ends_paragraph("x" * 50 + ".", 60)
    assert is_plain_heading("1 Data")
    assert not is_plain_heading("1 Data.")
