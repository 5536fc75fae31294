"""Training a learned fusion: how many trees are kept, and what is measured on held-out queries."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.fusion_examples import fusion_examples, small_recipe

from cocite.errors import InputError
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite.systems.learned_fusion.task import train_measured, train_trees
from cocite.training.stages import metric_means, score_values


def test_all_trees_are_kept_where_more_are_better() -> None:
    learned = train_measured(fusion_examples(200, noise=0.5), small_recipe(trees=30))
    assert learned.fusion.booster.num_trees() == 30
    assert learned.note == "global fusion: all 30 trees are kept: fewer were not better by more than chance"


def test_fewer_trees_are_kept_where_more_only_learn_noise() -> None:
    data = fusion_examples(300, noise=0.6, useless=12)
    learned = train_measured(data, small_recipe(trees=200, learning_rate=0.8, leaves=31))
    kept = learned.fusion.booster.num_trees()
    assert kept < 200
    assert learned.note == f"global fusion: {kept} of 200 trees are kept: more were worse"
    fresh = fusion_examples(300, noise=0.6, useless=12, seed=1)
    whole = train_measured(
        data, FusionRecipe.parse({"held_out": 0, "trees": small_recipe(trees=200, learning_rate=0.8).trees})
    )
    assert whole.comparison is None
    mrr = [
        metric_means(score_values(found.fusion.scores(fresh.signals), fresh.relevant, fresh.counts))["MRR"]
        for found in (learned, whole)
    ]
    assert mrr[0] > mrr[1]


def test_the_comparison_says_how_many_queries_and_its_interval() -> None:
    learned = train_measured(
        fusion_examples(100, noise=0.5), small_recipe(trees=20), stage="fusion", kind="local"
    )
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
    poor = small_recipe(trees=1, leaves=2, feature_share=0.2, learning_rate=0.01)
    learned = train_measured(fusion_examples(120, noise=0.1, useless=4), poor)
    assert learned.comparison is not None
    assert learned.comparison.below


def test_training_is_a_function_of_its_seed() -> None:
    data = fusion_examples(60, noise=0.5, useless=3)
    one, two = (
        train_measured(data, small_recipe(trees=10)).fusion.booster.model_to_string() for _ in range(2)
    )
    other = train_measured(data, small_recipe(trees=10, seed=1)).fusion.booster.model_to_string()
    assert one == two != other


def test_each_tree_is_reported_with_the_booster() -> None:
    data, numbers = fusion_examples(40, noise=0.5), []
    train_trees(
        data.signals,
        data.relevant,
        small_recipe(trees=4).trees,
        after=lambda booster, trees: numbers.append((booster.num_trees(), trees)),
    )
    assert numbers == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_queries_that_cite_none_of_their_candidates_change_nothing() -> None:
    data, settings = fusion_examples(40, noise=0.5), small_recipe(trees=5).trees
    unanswered = {name: np.concatenate([values, values[:9]]) for name, values in data.signals.items()}
    relevant = np.concatenate([data.relevant, np.zeros((9, 30), bool)])
    one = train_trees(data.signals, data.relevant, settings)
    other = train_trees(unanswered, relevant, settings)
    assert one.booster.model_to_string() == other.booster.model_to_string()
    with pytest.raises(InputError, match="no query has a cited paper among its candidates"):
        train_trees(data.signals, np.zeros_like(data.relevant), settings)


def test_the_names_say_which_signals_are_read_and_in_what_order() -> None:
    data = fusion_examples(40, noise=0.5, useless=2)
    names = ("useless-1", "first-stage")
    fusion = train_trees(data.signals, data.relevant, small_recipe(trees=2).trees, names=names)
    assert fusion.names == names
    assert fusion.depth == 30
