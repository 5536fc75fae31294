from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.cleaning import repair
from cocite.corpus.text_columns import cleaned, is_plain_id

LETTERS = st.sampled_from([*"ab \t\n", "\x00", "\x7f", "é", "e\u0301", "\ufffd", "𝐀", "\u3000", "\x85"])
TEXTS = st.lists(st.none() | st.lists(LETTERS, max_size=6).map("".join), max_size=6)


@given(TEXTS, st.integers(0, 6), st.integers(0, 2))
def test_texts_are_cleaned_as_one_by_one(values: list[str | None], limit: int, skipped: int) -> None:
    texts, broken = cleaned(pa.array(values, pa.string()).slice(skipped), limit)
    for value, text, is_broken in zip(values[skipped:], texts.to_pylist(), broken.tolist(), strict=True):
        whole, had_broken = repair(value or "")
        assert is_broken == (had_broken or len(whole) > limit)
        assert is_broken or text == whole.strip()


def test_plain_ids() -> None:
    ids = ["a/1", "", None, " a", "a ", "a b", "ü", "a\n", "a" * 999]
    assert is_plain_id(pa.array(ids, pa.string())).tolist() == [
        id_ in ("a/1", "a b", "a" * 999) for id_ in ids
    ]
