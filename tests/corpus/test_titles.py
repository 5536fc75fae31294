from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.titles import similar_titles, title_words

WORDS = "deep neural citation recommendation of for the with context graph".split()


TITLES = st.lists(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join), max_size=25)


@given(TITLES, TITLES, st.sampled_from([0.3, 0.5, 0.7, 1.0]))
def test_similar_titles_equal_all_pairs(titles: list[str], others: list[str], threshold: float) -> None:
    def alike(a: frozenset[str], b: frozenset[str]) -> bool:
        return bool(a and b) and len(a & b) / len(a | b) >= threshold

    expected = [any(alike(title_words(t), title_words(o)) for o in others) for t in titles]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cocite.corpus.titles._PAIRS", 3)
        assert similar_titles(titles, others, threshold).tolist() == expected


def test_titles_are_compared_without_special_characters_and_accents() -> None:
    assert title_words("Über-Graphs: A (New) Way, 2.0!") == {"uber", "graphs", "a", "new", "way", "2", "0"}
    assert similar_titles(["Naïve  BAYES"], ["naive-bayes?"]).tolist() == [True]
    assert similar_titles(["", "?!"], ["", "?!"]).tolist() == [False, False]
