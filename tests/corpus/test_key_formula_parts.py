"""The functions and filters of formulas for citation keys."""

from __future__ import annotations

from cocite.corpus.key_formula_parts import FILTERS, FUNCTIONS
from cocite.corpus.records import PaperRecord


def test_how_many_authors_there_are_decides() -> None:
    names = ("Ann Lee", "Bo Kim", "Cy Wu")
    one, two, three = (PaperRecord("a", "T", authors=names[:count]) for count in (1, 2, 3))
    for name, made in (
        ("authetal", ["Lee", "Lee Kim", "Lee EtAl"]),
        ("authetal2", ["Lee", "Lee.Kim", "Lee.etal"]),
    ):
        assert [FUNCTIONS[name].make(paper) for paper in (one, two, three)] == made
        assert FUNCTIONS[name].make(PaperRecord("a", "T")) == ""


def test_arguments_are_told_by_place_or_by_name() -> None:
    select = FILTERS["select"]
    assert select.bind([]) == {}
    assert select.bind([("", 2), ("n", 3)]) == {"start": 2, "n": 3}
    for wrong in ([("", 1), ("", 2), ("", 3)], [("", 1), ("start", 2)], [("", "a")], [("m", 1)]):
        assert select.bind(wrong) is None
    assert FILTERS["replace"].bind([("", "a")]) is None
    assert FILTERS["replace"].bind([("replace", "b"), ("find", " &")]) == {"replace": "b", "find": " &"}


def test_words_are_told_by_spaces() -> None:
    assert FILTERS["select"].make("one two  three", 0, 0) == "one"
    assert FILTERS["abbr"].make("one two", 9) == "onetwo"
    assert FILTERS["alphanum"].make("a-b (c) d") == "ab c d"
    assert FILTERS["skipwords"].make("The roots of a tree") == "roots tree"
    assert FILTERS["fold"].make("Øre") == "Ore"
