"""A stage against the one before it: by how much, how surely, and whether it is left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.protocols import NO_ROW
from cocite.training.stages import (
    METRICS,
    Values,
    compare_stages,
    metric_means,
    query_values,
    score_values,
    stage_record,
)


def drawn(seed: int, queries: int = 200, chance: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """(Q, 40) hits of an order whose top is better, and how many papers each query cites."""
    rng = np.random.default_rng(seed)
    hits = rng.random((queries, 40)) < chance * 4 / np.sqrt(1 + np.arange(40))
    return hits, hits.sum(axis=1) + rng.integers(1, 4, queries)


def reversed_tops(hits: np.ndarray, share: float, seed: int) -> np.ndarray:
    """The same candidates, some queries' in reverse."""
    worse = np.random.default_rng(seed).random(len(hits)) < share
    return np.where(worse[:, None], hits[:, ::-1], hits)


def test_values_are_those_of_their_definitions() -> None:
    hits = np.zeros((2, 30), bool)
    hits[0, [1, 9, 19, 25]] = True
    values = query_values(hits, np.array([8, 0]))
    assert values.tolist() == [[3 / 20, 3 / 8, 1 / 2, 2 / 8], [0, 0, 0, 0]]
    precision, recall = 3 / 40, 3 / 16
    means = metric_means(values)
    assert means == pytest.approx(
        {"F1@20": 2 * precision * recall / (precision + recall), "MRR": 0.25, "R@10": 0.125}
    )
    shuffled = np.random.default_rng(0).permutation(30)
    scores = -shuffled[None].astype(np.float32)
    relevant = np.zeros((1, 30), bool)
    relevant[0] = hits[0][shuffled]
    assert score_values(scores, relevant, np.array([8])).tolist() == values[:1].tolist()


@settings(max_examples=25)
@given(seed=st.integers(0, 50), share=st.floats(0, 1))
def test_a_comparison_the_other_way_round_is_its_mirror_image(seed: int, share: float) -> None:
    hits, counts = drawn(seed, 60)
    new, old = query_values(reversed_tops(hits, share, seed), counts), query_values(hits, counts)
    papers = np.arange(60)
    there, back = (compare_stages("a", "b", "global", *pair, papers) for pair in ((new, old), (old, new)))
    for metric in METRICS:
        low, high = there.differences[metric]
        assert (-high, -low) == pytest.approx(back.differences[metric])
        assert there.values[metric] == back.values[metric][::-1]
        assert there.intervals[metric][0] <= there.values[metric][0] <= there.intervals[metric][1]
    assert there.below or back.below or new.tolist() == old.tolist()


def test_the_interval_holds_what_is_true_of_all_queries() -> None:
    """Of a large population, samples of 150 queries: the difference lies in 95 % of the intervals, more or less."""
    hits, counts = drawn(3, 6000)
    new, old = query_values(reversed_tops(hits, 0.3, 1), counts), query_values(hits, counts)
    truth = {metric: metric_means(new)[metric] - metric_means(old)[metric] for metric in METRICS}
    held = dict.fromkeys(METRICS, 0)
    for part in np.array_split(np.random.default_rng(0).permutation(6000), 40):
        found = compare_stages("a", "b", "global", new[part], old[part], part)
        for metric in METRICS:
            low, high = found.differences[metric]
            held[metric] += low <= truth[metric] <= high
    assert all(35 <= count <= 40 for count in held.values()), held


def test_gaps_of_one_manuscript_count_as_one() -> None:
    hits, counts = drawn(4, 20)
    new, old = query_values(reversed_tops(hits, 0.5, 1), counts), query_values(hits, counts)
    papers = np.arange(20)

    def width(new: Values, old: Values, papers: np.ndarray) -> float:
        low, high = compare_stages("a", "b", "local", new, old, papers).differences["MRR"]
        return high - low

    alone = width(new, old, papers)
    again = np.tile(np.arange(20), 9)
    assert width(new[again], old[again], papers[again]) == pytest.approx(alone)
    assert width(new[again], old[again], np.full(180, NO_ROW)) < 0.5 * alone


@pytest.mark.parametrize(("keep", "left_out"), [("unless_below", {"local"}), ("always", set())])
def test_a_stage_that_is_below_is_named_and_left_out(keep: str, left_out: set[str]) -> None:
    hits, counts = drawn(5)
    good, bad = query_values(hits, counts), query_values(hits[:, ::-1], counts)
    papers = np.arange(200)
    comparisons = [
        compare_stages("fusion", "first-stage", "local", bad, good, papers),
        compare_stages("fusion", "first-stage", "global", good, bad, papers),
        compare_stages("fusion", "first-stage", "global", good, good, papers),
    ]
    assert [comparison.below for comparison in comparisons] == [True, False, False]
    record = stage_record(comparisons, keep, left_out="it is left out")  # type: ignore[arg-type]
    assert set(record["left_out"]) == left_out
    new, old = (metric_means(values)["MRR"] for values in (bad, good))
    assert record["notes"][0].startswith(
        "fusion is below first-stage on 200 local dev queries of 200 manuscripts"
    )
    assert f"MRR {new:.3f} against {old:.3f} [" in record["notes"][0]
    assert "keep=always" in record["notes"][0]
    assert "is not below" in record["notes"][1]


def test_a_gain_in_one_metric_hides_no_loss_in_another() -> None:
    """The first hit comes up, and three others fall out of the best ten: MRR rises more than R@10 falls."""
    old_hits, new_hits = np.zeros((2, 100, 40), bool)
    old_hits[:, [4, 6, 7, 8]] = True
    new_hits[:, [0, 36, 37, 38]] = True
    counts = np.full(100, 20)
    found = compare_stages(
        "a", "b", "global", query_values(new_hits, counts), query_values(old_hits, counts), np.arange(100)
    )
    assert sum(new - old for new, old in found.values.values()) > 0
    assert found.below
