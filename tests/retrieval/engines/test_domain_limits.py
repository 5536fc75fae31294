"""The limits are robust outliers' limits, and say nothing of texts that are too short."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.errors import ConfigError
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.domain_limits import LEAST_TEXTS, DomainLimits, Limits
from cocite.retrieval.engines.word_rarity import WordRarity


def texts(count: int, words: int, seed: int = 0) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [draw.normal(4.0, 1.0, words) for _ in range(count)]


def test_a_limit_lies_some_deviations_above_the_median_and_falls_with_the_length() -> None:
    limits = Limits.fit(texts(2000, 70))
    assert limits is not None
    assert limits.lengths == (4, 8, 16, 32, 64)
    deviations = [
        (limit - 4) * length**0.5 for length, limit in zip(limits.lengths, limits.rarities, strict=True)
    ]
    assert deviations == pytest.approx([3.5] * 5, abs=0.35)
    assert list(limits.rarities) == sorted(limits.rarities, reverse=True)
    assert limits.at(500) == limits.rarities[-1]


def test_damaged_texts_hardly_move_a_limit() -> None:
    clean = Limits.fit(texts(1000, 64))
    damaged = Limits.fit([*texts(950, 64), *(np.full(64, 11.0) for _ in range(50))])
    assert clean is not None
    assert damaged is not None
    assert damaged.rarities == pytest.approx(clean.rarities, abs=0.3)


def test_few_texts_have_no_limits() -> None:
    assert Limits.fit(texts(LEAST_TEXTS - 1, 64)) is None
    assert Limits.fit(texts(1000, 3)) is None


def test_short_texts_are_unlike_only_where_no_word_is_known() -> None:
    papers = Bm25Index.build(["parsing with trees", "neural translation"])
    rarity = WordRarity(papers, Bm25Index.build([]), (2, 0))
    limits = DomainLimits(documents=(2, 0), kinds={"global": Limits(lengths=(4,), rarities=(0.0,))})
    asked = ("trees", "gene", "", "the of", "gene gene trees", "gene gene gene trees")
    assert [limits.is_unlike(rarity, text, "local") for text in asked] == [
        False,
        True,
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("lengths", "rarities", "said"),
    [((4, 8), (5.0,), "2 lengths have 1 limits"), ((8, 4), (5.0, 4.0), "the lengths do not rise")],
)
def test_limits_that_do_not_fit_are_refused(
    lengths: tuple[int, ...], rarities: tuple[float, ...], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        Limits.parse({"lengths": lengths, "rarities": rarities})
