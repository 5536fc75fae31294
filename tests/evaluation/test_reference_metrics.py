"""The metrics of ir_measures: which compare, and queries that a run lacks."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.errors import InputError
from cocite.evaluation.reference_metrics import is_comparable, means, per_query


def test_metrics_of_another_definition_do_not_compare():
    names = ["P@10", "R@1000", "MRR", "MRR@5", "F1@20", "MAP@10"]
    assert [is_comparable(name) for name in names] == [True, True, True, True, False, False]
    with pytest.raises(InputError, match="no metric is called 'NDCG@5'"):
        is_comparable("NDCG@5")


def test_parts_of_a_run_give_the_values_of_the_whole():
    qrels = {"a": ["x", "y"], "b": ["y"], "c": []}
    run = {
        "a": {"x": 3.0, "z": 2.0, "y": 1.0},
        "b": {"z": 2.0, "y": 1.0},
        "c": {"x": 1.0},
        "stranger": {"x": 1.0},
    }
    names = ["MRR", "P@2", "R@2"]
    whole = per_query(qrels, [run], names)
    parts = per_query(qrels, [{query: documents} for query, documents in run.items()], names)
    assert whole == parts
    assert whole["MRR"] == {"a": 1.0, "b": 0.5, "c": 0.0}
    assert whole["R@2"] == {"a": 0.5, "b": 1.0, "c": 0.0}


def test_averages_count_missing_queries_as_zero_and_unjudged_ones_not_at_all():
    qrels = {"a": ["x"], "b": ["y"], "c": []}
    assert means(qrels, [{"a": {"x": 1.0}, "c": {"x": 1.0}}], ["MRR", "R@5"]) == {"MRR": 0.5, "R@5": 0.5}
    assert np.isnan(means({"c": []}, [{"c": {"x": 1.0}}], ["MRR"])["MRR"])
