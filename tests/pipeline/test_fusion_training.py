"""Learned fusions by themselves: what is held out, how many trees are kept, what the dev line says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.systems.learned_fusion.examples import MEASURED, FusionExamples, held_out_parts, reserved_queries
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite.systems.learned_fusion.task import train_measured
from cocite.training.stages import metric_means, score_values


def examples(queries: int, *, noise: float, useless: int = 0, seed: int = 0) -> FusionExamples:
    """Candidates of which two are relevant; one signal tells them with noise, others tell nothing."""
    rng = np.random.default_rng(seed)
    relevant = np.zeros((queries, 30), bool)
    relevant[:, :2] = True
    signals = {"first-stage": relevant + noise * rng.normal(size=relevant.shape)}
    signals |= {f"useless-{i}": rng.normal(size=relevant.shape) for i in range(useless)}
    typed = {name: values.astype(np.float32) for name, values in signals.items()}
    return FusionExamples(
        typed, relevant, np.full(queries, 2, np.int32), np.arange(queries, dtype=np.int32) // 2
    )


def recipe(**trees: Any) -> FusionRecipe:
    return FusionRecipe.parse({"trees": {"threads": 1, "leaves": 7, "least_in_leaf": 5, **trees}})


@given(st.integers(1, 400), st.sampled_from([0.05, 0.2, 0.5]), st.integers(0, 5))
def test_parts_share_no_manuscript_and_are_enough_or_all(queries: int, share: float, seed: int) -> None:
    papers = np.random.default_rng(seed).integers(0, 1 + queries // 2, queries).astype(np.int32)
    parts = held_out_parts(papers, share, seed)
    taken = np.concatenate([np.unique(papers[part]) for part in parts]) if parts else np.zeros(0)
    assert len(taken) == len(np.unique(taken))
    if parts:
        assert parts[0].tolist() == np.flatnonzero(reserved_queries(papers, share, seed)).tolist()
        left = len(np.unique(papers)) - len(taken)
        assert sum(map(len, parts)) >= MEASURED or left < len(np.unique(papers[parts[0]]))
        assert sum(map(len, parts[:-1])) < MEASURED


def test_all_trees_are_kept_where_more_are_better() -> None:
    learned = train_measured(examples(200, noise=0.5), recipe(trees=30))
    assert learned.fusion.booster.num_trees() == 30
    assert learned.note == "global fusion: all 30 trees are kept: fewer were not better by more than chance"


def test_fewer_trees_are_kept_where_more_only_learn_noise() -> None:
    data = examples(300, noise=0.6, useless=12)
    learned = train_measured(data, recipe(trees=200, learning_rate=0.8, leaves=31))
    kept = learned.fusion.booster.num_trees()
    assert kept < 200
    assert learned.note == f"global fusion: {kept} of 200 trees are kept: more were worse"
    fresh = examples(300, noise=0.6, useless=12, seed=1)
    whole = train_measured(
        data, FusionRecipe.parse({"held_out": 0, "trees": recipe(trees=200, learning_rate=0.8).trees})
    )
    assert whole.comparison is None
    mrr = [
        metric_means(score_values(found.fusion.scores(fresh.signals), fresh.relevant, fresh.counts))["MRR"]
        for found in (learned, whole)
    ]
    assert mrr[0] > mrr[1]


def test_the_dev_line_tells_how_many_queries_and_how_sure() -> None:
    learned = train_measured(examples(100, noise=0.5), recipe(trees=20), stage="fusion", kind="local")
    found = learned.comparison
    assert found is not None
    assert (found.queries, found.manuscripts) == (100, 50), "few, so all are held out once"
    assert found.sentence.startswith(
        f"fusion is {'below' if found.below else 'not below'} first-stage on 100 local dev"
    )
    low, high = found.intervals["MRR"]
    assert low < learned.metrics["MRR"] == found.values["MRR"][0] < high
    assert learned.metrics["first-stage MRR"] == found.values["MRR"][1]


def test_a_fusion_of_one_poor_tree_is_below_what_it_reorders() -> None:
    poor = recipe(trees=1, leaves=2, feature_share=0.2, learning_rate=0.01)
    learned = train_measured(examples(120, noise=0.1, useless=4), poor)
    assert learned.comparison is not None
    assert learned.comparison.below


@pytest.mark.parametrize("steps", [[1], [2, 5], [3, 6, 9]])
def test_scores_after_some_trees_are_those_of_as_many_trees(steps: list[int]) -> None:
    data = examples(40, noise=0.5)
    fusion = train_measured(data, recipe(trees=9)).fusion
    table = np.stack([data.signals[name] for name in fusion.names], -1).reshape(-1, len(fusion.names))
    for count, scores in zip(steps, fusion.scores_after(data.signals, steps), strict=True):
        expected = fusion.booster.predict(table, num_iteration=count).reshape(scores.shape)
        assert scores == pytest.approx(expected, abs=1e-6)
