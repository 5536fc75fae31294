"""Which parts are found in a pasted text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.records import OTHER_MARK, TARGET_MARK
from cocite.drafts.gaps import GAP
from cocite.errors import InputError
from cocite.text.gap_context import WINDOW
from cocite_serve.http.manuscript import ABSTRACT_CHARS, parse_manuscript


def test_context_with_one_gap() -> None:
    manuscript = parse_manuscript(context="We use attention [CIT] here.")
    assert manuscript.context == f"We use attention {TARGET_MARK} here."
    assert (manuscript.gap, manuscript.gaps, manuscript.title, manuscript.abstract) == (0, 1, "", "")


@pytest.mark.parametrize("mark", ["[CIT]", "[cit]", "[ CIT ]", TARGET_MARK])
def test_marks_people_write(mark: str) -> None:
    assert parse_manuscript(context=f"a {mark} b").context == f"a {TARGET_MARK} b"


def test_the_other_gaps_are_marked_as_others() -> None:
    text = "one [CIT] two [CIT] three [CIT] four"
    assert (
        parse_manuscript(text=text, gap=1).context
        == f"one {OTHER_MARK} two {TARGET_MARK} three {OTHER_MARK} four"
    )
    assert parse_manuscript(text=text, gap=1).gaps == 3


def test_sentences_with_gaps_of_their_own_are_left_out() -> None:
    text = "One thing [CIT]. Another thing. A third thing [CIT], as said. More of it. A fourth thing [CIT]."
    assert parse_manuscript(text=text, gap=0).context == f"One thing {TARGET_MARK}. Another thing."
    assert (
        parse_manuscript(text=text, gap=1).context
        == f"Another thing. A third thing {TARGET_MARK}, as said. More of it."
    )
    assert parse_manuscript(text=text, gap=2).context == f"More of it. A fourth thing {TARGET_MARK}."
    assert parse_manuscript(text=text).abstract == ""


def test_context_without_a_gap_is_searched_whole() -> None:
    manuscript = parse_manuscript(context="about  one\nthing", title="T")
    assert (manuscript.context, manuscript.gap, manuscript.gaps, manuscript.title) == (
        "about one thing",
        None,
        0,
        "T",
    )


def test_title_and_abstract_from_pasted_text() -> None:
    manuscript = parse_manuscript(text="A title\n\nThe abstract. It goes on.")
    assert (manuscript.title, manuscript.abstract, manuscript.context) == (
        "A title",
        "The abstract. It goes on.",
        "",
    )
    assert parse_manuscript(text="Only a title").title == "Only a title"
    assert parse_manuscript(text="A sentence, and no title.") == parse_manuscript(
        abstract="A sentence, and no title."
    )


def test_draft_gives_title_abstract_and_the_text_around_the_gap() -> None:
    draft = "A title\n" + "before " * 200 + "[CIT] " + "after " * 200
    manuscript = parse_manuscript(text=draft)
    assert manuscript.title == "A title"
    assert 0 < len(manuscript.abstract) <= ABSTRACT_CHARS
    assert "[CIT]" not in manuscript.abstract
    before, after = manuscript.context.split(TARGET_MARK)
    assert 0 < len(before.strip()) <= WINDOW
    assert 0 < len(after.strip()) <= WINDOW
    assert set(before.split()) == {"before"}, "words are never cut"
    assert set(after.split()) == {"after"}


def test_a_gap_in_the_first_line_makes_it_no_title() -> None:
    manuscript = parse_manuscript(text="We follow [CIT] closely\nand go on.")
    assert (manuscript.title, manuscript.context) == ("", f"We follow {TARGET_MARK} closely and go on.")


def test_own_title_wins_over_the_drafts() -> None:
    assert parse_manuscript(title="Mine", text="First line\nrest [CIT] end").title == "Mine"


@pytest.mark.parametrize(
    ("request_", "where", "words"),
    [
        ({}, None, "give a title and abstract"),
        ({"context": "a", "text": "b"}, "text", "not both"),
        ({"context": "a", "gap": 1}, "gap", "holds no [CIT]"),
        ({"text": "a", "gap": 1}, "gap", "holds no [CIT]"),
        ({"text": "a [CIT] b", "gap": 1}, "gap", "holds 1 [CIT]"),
    ],
)
def test_refusals_say_what_to_do(request_: dict[str, str], where: str | None, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        parse_manuscript(**request_)  # type: ignore[arg-type]
    assert caught.value.where == where


@given(
    st.lists(
        st.sampled_from(["word", "Word.", "[CIT]", "\n", "x" * 300, "é", "[", "]"]), min_size=1, max_size=40
    )
)
def test_any_text_is_read_and_holds_exactly_one_target(parts: list[str]) -> None:
    text = " ".join(parts)
    gaps = len(GAP.findall(text))
    for gap in range(gaps):
        manuscript = parse_manuscript(text=text, gap=gap)
        assert manuscript.gaps == gaps
        assert manuscript.context.count(TARGET_MARK) == 1
        assert len(manuscript.context) <= 2 * WINDOW + len(TARGET_MARK) + 2
    if not gaps and text.strip():
        manuscript = parse_manuscript(text=text)
        assert not manuscript.context
        assert manuscript.title + manuscript.abstract
