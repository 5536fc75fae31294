from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.importers.inverted_abstract import MAX_POSITION, abstract_of
from cocite.corpus.importers.values import FieldError


@given(st.lists(st.sampled_from("a bb the".split()), max_size=12))
def test_inverted_index_is_put_together(words: list[str]) -> None:
    index: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        index.setdefault(word, []).append(at)
    assert abstract_of(index, "abstract") == " ".join(words)


def test_positions_are_bounded_and_must_be_lists() -> None:
    assert (
        abstract_of({"first": [0], "far": [MAX_POSITION], "before": [-1], "odd": ["2"]}, "index") == "first"
    )
    with pytest.raises(FieldError, match="index must be lists of positions, not 3"):
        abstract_of({"word": 3}, "index")
