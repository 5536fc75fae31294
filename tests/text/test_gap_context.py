"""The context of a gap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.text.gap_context import WINDOW, context_of_gap, whole_words


@pytest.mark.parametrize(
    ("before", "after", "context"),
    [
        ("One [?]. Two [?] and", "three [?].", "Two OTHERCIT and TARGETCIT three OTHERCIT."),
        ("One. Two", ". Three. Four [?]. Five", "One. Two TARGETCIT. Three."),
        ("", "", "TARGETCIT"),
        ("One [?]. [?] says", "so", "OTHERCIT says TARGETCIT so"),
    ],
)
def test_other_sentences_with_gaps_are_cut_off_and_the_own_one_stays(
    before: str, after: str, context: str
) -> None:
    assert context_of_gap(before, after, neighbour="[?]") == context


@given(st.text("abc .\n", max_size=1_000), st.text("abc .\n", max_size=1_000))
def test_a_context_is_bounded_and_has_one_gap(before: str, after: str) -> None:
    context = context_of_gap(before, after)
    assert context.count("TARGETCIT") == 1
    assert len(context) <= 2 * WINDOW + len(" TARGETCIT ")
    left, _, right = context.partition("TARGETCIT")
    assert " ".join(before.split()).endswith(left.strip())
    assert " ".join(after.split()).startswith(right.strip())


def test_whole_words() -> None:
    assert whole_words("neural parsing", 100) == "neural parsing"
    assert whole_words("neural parsing", 8) == "neural"
