from __future__ import annotations

import pytest
from helpers.odd_papers import AUTHORS
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.names import Name, split_name


@pytest.mark.parametrize(
    ("author", "name", "last_first"),
    [
        ("Franz Josef Och", Name("Och", "Franz Josef"), "Och, Franz Josef"),
        ("Ludwig van Beethoven", Name("Beethoven", "Ludwig", "van"), "van Beethoven, Ludwig"),
        ("van der Goot, R. C. M.", Name("Goot", "R. C. M.", "van der"), "van der Goot, R. C. M."),
        ("Martin Luther King, Jr.", Name("King", "Martin Luther", "", "Jr."), "King, Martin Luther, Jr."),
        ("William Strunk III", Name("Strunk", "William", "", "III"), "Strunk, William, III"),
        ("King, Martin, Jr.", Name("King", "Martin", "", "Jr."), "King, Martin, Jr."),
        ("Σωκράτης", Name("Σωκράτης"), "Σωκράτης"),
        ("王小明", Name("王小明"), "王小明"),
        ("Ann {Curly} Brace~d", Name("Brace~d", "Ann {Curly}"), "Brace~d, Ann {Curly}"),
        ("Open { Brace", Name("Brace", "Open {"), "Brace, Open {"),
    ],
)
def test_names_are_split(author: str, name: Name, last_first: str) -> None:
    found = split_name(author)
    assert found == name
    assert found.last_first == last_first


@pytest.mark.parametrize(
    "author",
    ["Google, Inc.", "Barnes and Noble", "others", "et al.", "a, b, c", ", Jr.", "", "King,", "Smith Jr."],
)
def test_what_is_no_person_stays_whole(author: str) -> None:
    assert split_name(author) is None


@given(st.lists(st.text(max_size=12), max_size=4).map(lambda words: " ".join(" ".join(words).split())))
def test_nothing_of_a_name_is_lost(author: str) -> None:
    name = split_name(author)
    if name is not None and "," not in author:
        assert name.first_last == author


def test_odd_names_come_back() -> None:
    split = [(author, name) for author in AUTHORS if "," not in author and (name := split_name(author))]
    assert len(split) > 15
    assert [name.first_last for _, name in split] == [author for author, _ in split]
