from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.retrieval.sizing.figures import MeasuredIndex, measured_indexes
from cocite.retrieval.sizing.growth import (
    SHARD_STEPS,
    Growth,
    Power,
    Sum,
    Vocabulary,
    amounts_of,
    driver,
    of_shards,
)

MEASURED = measured_indexes()
GROWTH = Growth(MEASURED)
NEAR = 0.2
"""The largest error of a computed figure that was measured."""


@pytest.mark.parametrize("one", MEASURED, ids=lambda one: f"{one.papers} papers, {one.shards} shards")
def test_what_was_measured_is_computed_within_a_fifth(one: MeasuredIndex) -> None:
    amounts = GROWTH.amounts(one.papers, one.contexts, one.links, one.shards)
    assert amounts.words == pytest.approx(one.words, rel=NEAR)
    parts = GROWTH.part_bytes(amounts)
    assert sum(parts.values()) == pytest.approx(sum(one.bytes.values()), rel=NEAR)
    shards = [sum(size for part, size in of.items() if of_shards(part)) for of in (parts, one.bytes)]
    assert shards[0] == pytest.approx(shards[1], rel=NEAR)
    assert GROWTH.process + GROWTH.opened(amounts) == pytest.approx(one.opened, rel=NEAR)
    if one.build_cpu_s is not None:
        assert GROWTH.build_cpu_s(amounts) == pytest.approx(one.build_cpu_s, rel=NEAR)
    for kind, steps in one.cpu_ms.items():
        of_rounds = sum(steps[step] for step in SHARD_STEPS)
        computed = GROWTH.coordinator_ms(kind, amounts) + one.shards * GROWTH.shard_ms(kind, amounts)
        assert computed == pytest.approx(sum(steps.values()), rel=NEAR)
        assert one.shards * GROWTH.shard_ms(kind, amounts) == pytest.approx(of_rounds, rel=2 * NEAR)


papers = st.floats(1e4, 1e10)


@given(papers, st.floats(1, 100), st.sampled_from([1, 4, 100]))
def test_nothing_falls_with_more_papers(fewer: float, times: float, shards: int) -> None:
    small, large = (GROWTH.amounts(n, 4 * n, 10 * n, shards) for n in (fewer, fewer * times))
    slack = 1 + 1e-9
    assert large.words * slack >= small.words
    less, more = GROWTH.part_bytes(small), GROWTH.part_bytes(large)
    assert all(more[part] * slack >= less[part] >= 0 for part in less)
    for value in (GROWTH.opened, GROWTH.build_cpu_s):
        assert value(large) * slack >= value(small) >= 0
    for kind in MEASURED[0].cpu_ms:
        for ms in (GROWTH.coordinator_ms, GROWTH.shard_ms):
            assert ms(kind, large) * slack >= ms(kind, small) > 0


@given(papers, st.floats(0, 1e11), st.floats(0, 1e11))
def test_links_and_contexts_take_their_own_parts(count: float, contexts: float, links: float) -> None:
    without = GROWTH.part_bytes(GROWTH.amounts(count, 0, 0, 4))
    with_both = GROWTH.part_bytes(GROWTH.amounts(count, contexts, links, 4))
    assert with_both["corpus: papers"] == without["corpus: papers"]
    assert without["corpus: contexts"] == without["contexts: lists"] == 0
    assert with_both["corpus: cites"] >= without["corpus: cites"] >= 8 * count * 0.9


def test_every_measured_part_has_something_that_it_grows_with() -> None:
    for one in MEASURED:
        assert all(driver(part, amounts_of(one)) > 0 for part in one.bytes)


@given(st.lists(st.floats(0, 10), min_size=2, max_size=2), st.integers(0, 99))
def test_a_sum_is_found_again(rates: list[float], seed: int) -> None:
    amounts = np.random.default_rng(seed).uniform(1, 10, (6, 2))
    values = amounts @ rates + 1e-9
    assert Sum.fit(amounts.tolist(), values.tolist()).at([2, 3]) == pytest.approx(
        2 * rates[0] + 3 * rates[1], rel=1e-3, abs=1e-6
    )


@given(st.floats(0.1, 10), st.floats(0, 1))
def test_a_power_is_found_again(scale: float, exponent: float) -> None:
    amounts = [10.0, 100.0, 5000.0]
    law = Power.fit([[x] for x in amounts], [scale * x**exponent for x in amounts])
    assert law.at([100_000]) == pytest.approx(scale * 100_000**exponent, rel=1e-3)


def test_exponents_stay_within_bounds() -> None:
    assert Power.fit([[1], [10]], [1, 1000]).exponents.tolist() == pytest.approx([1])
    assert Power.fit([[1], [10]], [5, 1]).exponents.tolist() == pytest.approx([0])


def test_words_are_those_measured_and_grow_by_the_fitted_power_beyond() -> None:
    measured = [(1e6, 1e4), (1e8, 1e5), (1e9, 2e5)]
    vocabulary = Vocabulary.fit(measured)
    assert [vocabulary.at(text) for text, _ in measured] == pytest.approx([words for _, words in measured])
    law = Power.fit([[text] for text, _ in measured], [words for _, words in measured])
    assert vocabulary.at(1e11) / 2e5 == pytest.approx(100 ** law.exponents[0])
    assert Vocabulary.fit(measured[:1]).at(1e12) == pytest.approx(1e4)
