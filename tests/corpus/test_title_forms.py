from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.title_forms import normal_titles


@pytest.mark.parametrize(
    ("title", "normal"),
    [
        ("BERT: Pre-training of  Transformers.", "bert pre training of transformers"),
        ("  Über Poincaré's  1st (?) paper ", "uber poincare s 1st paper"),
        ("…", ""),
        ("", ""),
    ],
)
def test_a_title_is_words_and_single_spaces(title: str, normal: str) -> None:
    assert normal_titles(pa.array([title])).to_pylist() == [normal]
    assert normal_titles(pa.chunked_array([[title], [None]])).to_pylist() == [normal, None]


WORDS = st.lists(st.text("abcXYZ019", min_size=1, max_size=5), max_size=5)


@given(WORDS, st.sampled_from([" ", ": ", "-", " \t", " – "]), st.sampled_from(["", ".", "?!"]))
def test_punctuation_and_case_do_not_count(words: list[str], joint: str, end: str) -> None:
    written = [joint.join(words) + end, " ".join(words).upper()]
    first, second = normal_titles(pa.array(written, pa.string())).to_pylist()
    assert first == second == " ".join(words).lower()
