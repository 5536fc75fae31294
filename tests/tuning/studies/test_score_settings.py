"""The settings of all studies without training."""

from __future__ import annotations

import pytest

from cocite.errors import ConfigError, InputError
from cocite.evaluation.metrics import GLOBAL, LOCAL
from cocite_tuning.studies.score_settings import ScoreSettings


def test_the_metrics_are_those_of_the_task_unless_they_are_named() -> None:
    assert ScoreSettings(kind="bm25").metric_names == tuple(LOCAL)
    assert ScoreSettings(kind="bm25", task="global").metric_names == tuple(GLOBAL)
    assert ScoreSettings(kind="bm25", metrics=("mrr", "r@5")).metric_names == ("MRR", "R@5")
    with pytest.raises(InputError, match="no metric is called"):
        _ = ScoreSettings(kind="bm25", metrics=("height",)).metric_names


@pytest.mark.parametrize(
    ("key", "value"), [("held_out", -0.1), ("held_out", 1.0), ("queries", 1), ("task", "both")]
)
def test_what_leaves_one_side_without_queries_is_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=key):
        ScoreSettings.parse({"kind": "bm25", key: value})
