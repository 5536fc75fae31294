from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.systems.citing_sentences.citations import (
    HOLE,
    has_numbers,
    is_debris,
    is_incomplete,
    remove_citations,
)


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        ("Trees help [[CIT:3]] .", "Trees help _ ."),
        ("Trees help TARGETCIT and [OTHERCIT], [CIT].", "Trees help _ and _, _."),
        ("Trees help (Smith, 2003).", "Trees help _."),
        ("Trees help (Smith and Lee, 2003; Kim, 1999b).", "Trees help _."),
        ("Trees help (see also van den Berg et al., to appear).", "Trees help _."),
        ("Smith et al. (2003) grow trees.", "_ grow trees."),
        ("Smith, Lee and Kim (2003) grow trees.", "_ grow trees."),
        ("Trees help [Smith, 88].", "Trees help _."),
        ("Smith et al. grow trees.", "_ grow trees."),
        ("Trees help (see [[CIT:1]], Lemma 2).", "Trees help _."),
        ("Trees help, e.g. [[CIT:1]].", "Trees help, _."),
        ("We use [[CIT:1]] 's parser.", "We use _ parser."),
    ],
)
def test_citations_are_found_and_removed(sentence: str, left: str) -> None:
    text, cites = remove_citations(sentence, numbers=False)
    assert cites
    assert text.replace(HOLE, "_") == left


@pytest.mark.parametrize(
    "sentence",
    [
        "We parse the treebank of 2003.",
        "The score is 0.5 (see Table 3).",
        "In the example [12] below nothing is cited.",
        "Accuracy fell in March (by 3 points).",
        "The interval [0, 1] is closed.",
    ],
)
def test_what_is_no_citation_stays(sentence: str) -> None:
    assert remove_citations(sentence, numbers=False) == (sentence, False)


def test_numbers_are_citations_where_a_text_cites_by_them() -> None:
    assert remove_citations("Trees help [3, 12].", numbers=True) == (f"Trees help {HOLE}.", True)
    assert has_numbers(["Trees help [3]."] * 5)
    assert not has_numbers(["Trees help [3]."] * 4)
    assert not has_numbers(["Trees help [3]."] * 5 + ["Trees help [[CIT:0]]."] * 6)


@given(st.text(alphabet="Ab e.t(al)[19]2'0,; and see", max_size=300), st.booleans())
def test_nothing_of_a_mark_is_left_and_nothing_is_added(text: str, numbers: bool) -> None:
    left, cites = remove_citations(f"{text} [[CIT:7]]", numbers=numbers)
    assert cites
    assert "CIT" not in left
    # What is left are characters of the sentence, in their order.
    rest = iter(f"{text} [[CIT:7]]")
    assert all(char in rest for char in left.replace(HOLE, ""))


@pytest.mark.parametrize(
    ("sentence", "incomplete"),
    [
        ("Trees help [[CIT:3]] .", False),
        ("Trees help (Smith, 2003; Lee, 2004), and so do forests.", False),
        ("We use the [[CIT:1]] parser of English.", False),
        ("Trees help, e.g. [[CIT:1]].", False),
        ("Nothing is cited in this sentence.", False),
        ("Smith et al. (2003) grow trees.", True),
        ("[[CIT:1]] and [[CIT:2]] grow trees.", True),
        ("Trees help as shown by [[CIT:1]].", True),
        ("Trees help, As In [[CIT:1]].", True),
        ("In contrast, [[CIT:1]] grow trees.", True),
        ("Trees grow like those of the [[CIT:1]].", True),
        ("Trees help [[CIT:1]], as in [[CIT:2]].", True),
    ],
)
def test_sentences_that_lack_a_word_without_their_citation(sentence: str, incomplete: bool) -> None:
    text, _ = remove_citations(sentence, numbers=False)
    assert is_incomplete(text) is incomplete


def test_long_texts_of_open_brackets_end() -> None:
    for text in ("(Smith, " * 5_000, "A and " * 5_000, "[1, " * 5_000, "see e.g. " * 5_000):
        left, _ = remove_citations(text, numbers=True)
        assert len(left) <= 4_000
        is_incomplete(f"{left}{HOLE}")
        is_incomplete(left.replace("e", HOLE))


@pytest.mark.parametrize(
    ("text", "debris"),
    [
        ("We parse all sentences of the corpus.", False),
        ("Lulu Wang and Liu.", True),
        ("0.31 0.42 0.57 1.2 models data tasks scores words", True),
        ("In Proceedings of the Conference on Parsing and Trees.", True),
        ("word " * 400, True),
        ("", True),
    ],
)
def test_debris(text: str, debris: bool) -> None:
    assert is_debris(text) is debris
    assert not re.search(HOLE, text)
