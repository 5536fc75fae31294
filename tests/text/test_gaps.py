from __future__ import annotations

import pytest

from cocite.text.gaps import around_gap, blank_marks, has_letters, split_at_gap, strip_marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as in TARGETCIT , and OTHERCIT.", "as in , and ."),
        ("see [CIT] or [OTHERCIT]", "see or"),
        ("see [[CIT]]", "see [ ]"),
        ("methodTARGETCIT and CIT stay", "method and CIT stay"),
        ("TARGETCIT", ""),
        ("", ""),
        ("two\n lines", "two lines"),
    ],
)
def test_marks_go_and_words_stay(text: str, expected: str) -> None:
    assert strip_marks(text) == expected
    assert blank_marks(text).split() == expected.split()


@pytest.mark.parametrize("mark", ["TARGETCIT", "[CIT]"])
def test_a_context_is_split_at_its_first_gap(mark: str) -> None:
    text = f"we OTHERCIT use {mark} and {mark} here"
    assert split_at_gap(text) == ("we use", "and here")
    assert around_gap(text, before=1, after=1) == "use and"
    assert around_gap(text) == "we use and here"


def test_without_a_gap_all_text_is_behind_it() -> None:
    assert split_at_gap("as in OTHERCIT before") == ("", "as in before")
    assert around_gap("as in OTHERCIT before") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [("TARGETCIT OTHERCIT [CIT] [OTHERCIT]", False), ("12 (3).", False), ("[CIT] é", True), ("", False)],
)
def test_marks_and_digits_are_no_letters(text: str, expected: bool) -> None:
    assert has_letters(text) is expected
