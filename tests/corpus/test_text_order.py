from __future__ import annotations

import random
from pathlib import Path

import pytest
from helpers.records import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus import links, share, text_order
from cocite.corpus.builder import build
from cocite.corpus.records import (
    PaperRecord,
    Record,
)


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 2, 3, 100]))
def test_the_order_of_texts_and_links_does_not_matter(tmp_path: Path, rng: random.Random, size: int) -> None:
    """Small buckets and chunks take every path of the sorting on disk; papers keep their order."""
    records = tiny()
    others = [r for r in records if not isinstance(r, PaperRecord)]
    papers = iter([r for r in records if isinstance(r, PaperRecord)])
    rng.shuffle(others)
    places = sorted(rng.sample(range(len(records)), len(others)))
    mixed: list[Record] = [others.pop() if i in places else next(papers) for i in range(len(records))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_order, "BUCKET", size)
        patch.setattr(share, "RECORDS", size)
        patch.setattr(links, "BLOCK", size)
        one = build(mixed, tmp_path / "one", replace=True)
    two = build(tiny(), tmp_path / "two", replace=True)
    assert one.version == two.version
