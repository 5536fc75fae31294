"""Drafts in plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.articles.headings import is_abstract_heading
from cocite.drafts.plain_text import is_heading, title_and_start
from cocite.drafts.reading import read_text

DRAFT = """Neural parsing of long sentences

Abstract
We parse long sentences.

1 Introduction

Parsers are trained on treebanks [CIT]. Others
use rules (citation needed).

Evaluation is by F1 [?].
"""


def test_a_draft() -> None:
    draft = read_text(DRAFT, "text")
    assert draft.title == "Neural parsing of long sentences"
    assert draft.abstract == "We parse long sentences."
    assert [section.title for section in draft.sections] == ["1 Introduction"]
    assert [gap.place.line for gap in draft.gaps] == [8, 9, 11]
    assert [DRAFT[gap.place.start : gap.place.end] for gap in draft.gaps] == [
        "[CIT]",
        "(citation needed)",
        "[?]",
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Parsing\n\nWe parse.", "Parsing"),
        ("Parsing\nWe parse.", "Parsing"),
        ("In recent years neural models of\nlanguage were trained.", ""),
        ("We parse.", ""),
        ("Parsers [CIT]", ""),
        ("", ""),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert title_and_start(text)[0] == title


def test_headings() -> None:
    assert is_heading("2 Related work")
    assert not is_heading("We parse.")
    assert not is_heading("Two\nlines")
    assert is_abstract_heading("ABSTRACT:")
    assert not is_abstract_heading("Abstract machines")


WORDS = st.lists(st.sampled_from(["parsing", "helps", "Trees.", "we", "[12]", "é", "\n\n", "\n"]), max_size=8)


@given(st.lists(st.tuples(WORDS, st.sampled_from(["[CIT]", "[?]", "(citation needed)"])), max_size=12), WORDS)
def test_the_gaps_found_are_those_put_in(parts: list[tuple[list[str], str]], rest: list[str]) -> None:
    text, expected = "Words of a draft.", []
    for words, gap in parts:
        text += " " + " ".join(words) + " "
        expected.append((len(text), gap))
        text += gap
    text += " " + " ".join(rest)
    draft = read_text(text, "text")
    found = [(gap.place.start, text[gap.place.start : gap.place.end]) for gap in draft.gaps]
    assert found == expected
    assert all(gap.place.line == 1 + text.count("\n", 0, gap.place.start) for gap in draft.gaps)
    assert all(gap.context.count("TARGETCIT") == 1 for gap in draft.gaps)
