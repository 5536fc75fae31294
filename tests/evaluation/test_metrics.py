"""Metrics: against public evaluators, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.rankings import name, rankings
from hypothesis import given

from cocite.errors import InputError
from cocite.evaluation import reference_metrics
from cocite.evaluation.hits import UNRANKED, Hits
from cocite.evaluation.metrics import GLOBAL, LOCAL, Metric, means, measure
from cocite.evaluation.trec import strictly_falling
from cocite.protocols import NO_ROW, Ranking

DEPTHS = (1, 3, 5, 10, 20, 1000)


def as_library(ranking: Ranking, relevant: list[list[int]]) -> tuple[dict, dict]:
    """The same run as a public evaluator takes it."""
    scores = strictly_falling(ranking.scores)
    run = {
        f"q{q}": {
            name(row): float(score)
            for row, score in zip(ranking.rows[q], scores[q], strict=True)
            if row != NO_ROW
        }
        for q in range(len(ranking))
    }
    return {f"q{q}": [name(row) for row in rows] for q, rows in enumerate(relevant)}, run


@given(rankings())
def test_precision_recall_and_reciprocal_rank_are_those_of_ir_measures(case):
    ranking, relevant = case
    names = [f"{kind}@{k}" for kind in "PR" for k in DEPTHS] + ["MRR", "MRR@3"]
    ours = measure(Hits.of(ranking, relevant), names)
    qrels, run = as_library(ranking, relevant)
    theirs = reference_metrics.per_query(qrels, [run], names)
    for metric in names:
        for q, rows in enumerate(relevant):
            if rows:
                assert ours.per_query[metric][q] == pytest.approx(theirs[metric][f"q{q}"], abs=1e-6)
            else:
                assert np.isnan(ours.per_query[metric][q])
    if any(relevant):
        for metric, value in reference_metrics.means(qrels, [run], names).items():
            assert ours.means[metric] == pytest.approx(value, abs=1e-6)


@given(rankings())
def test_average_precision_is_that_of_pytrec_eval_but_for_its_divisor(case):
    import pytrec_eval

    ranking, relevant = case
    hits = Hits.of(ranking, relevant)
    qrels, run = as_library(ranking, relevant)
    judged = {query: dict.fromkeys(names, 1) for query, names in qrels.items() if names and run[query]}
    cut = ",".join(map(str, DEPTHS))
    theirs = pytrec_eval.RelevanceEvaluator(judged, {f"map_cut.{cut}"}).evaluate(run)
    for k in DEPTHS:
        ours = Metric.parse(f"MAP@{k}").per_query(hits)
        for query, values in theirs.items():
            count = len(qrels[query])
            expected = values[f"map_cut_{k}"] * count / min(k, count)
            assert ours[int(query[1:])] == pytest.approx(expected, abs=1e-6)


@given(rankings())
def test_f1_of_a_corpus_is_the_harmonic_mean_of_its_averages(case):
    ranking, relevant = case
    hits = Hits.of(ranking, relevant)
    values = means(hits, ["P@5", "R@5", "F1@5"])
    p, r = values["P@5"], values["R@5"]
    if any(relevant):
        assert values["F1@5"] == pytest.approx(2 * p * r / (p + r) if p + r else 0)
        of_queries = measure(hits, ["P@5", "R@5", "F1@5"]).per_query
        both = of_queries["P@5"] + of_queries["R@5"]
        np.testing.assert_allclose(of_queries["F1@5"] * both, 2 * of_queries["P@5"] * of_queries["R@5"])
    else:
        assert np.isnan(values["F1@5"])


def test_values_by_hand():
    ranking = Ranking(
        np.array([[4, 7, 1, 9], [3, 2, NO_ROW, NO_ROW], [5, 6, 7, 8]], np.int32), np.zeros((3, 4), np.float32)
    )
    hits = Hits.of(ranking, [[1, 7, 30], [2], [0]])
    assert hits.ranks.tolist() == [2, 3, UNRANKED, 2, UNRANKED]
    assert hits.rows.tolist() == [7, 1, 30, 2, 0]
    values = measure(hits, ["P@4", "R@4", "MRR", "MAP@2", "MAP@4", "F1@4"])
    assert values.queries == 3
    assert values.per_query["P@4"].tolist() == [0.5, 0.25, 0]
    assert values.per_query["R@4"].tolist() == pytest.approx([2 / 3, 1, 0])
    assert values.per_query["MRR"].tolist() == [0.5, 0.5, 0]
    assert values.per_query["MAP@2"].tolist() == [0.25, 0.5, 0]
    assert values.per_query["MAP@4"].tolist() == pytest.approx([(1 / 2 + 2 / 3) / 3, 0.5, 0])
    p, r = 0.25, 5 / 9
    assert values.means["F1@4"] == pytest.approx(2 * p * r / (p + r))


def test_no_queries_and_no_depth():
    none = Hits.of(Ranking(np.zeros((0, 5), np.int32), np.zeros((0, 5), np.float32)), [])
    assert np.isnan(means(none, LOCAL)["MRR"])
    flat = Hits.of(Ranking(np.zeros((1, 0), np.int32), np.zeros((1, 0), np.float32)), [[3]])
    assert set(means(flat, GLOBAL).values()) == {0.0}


@pytest.mark.parametrize(
    ("text", "message"), [("RR@", "no metric"), ("P", "needs a depth"), ("NDCG@5", "no metric")]
)
def test_an_unknown_metric_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        Metric.parse(text)


def test_metric_names_are_written_as_they_are_read():
    assert [str(Metric.parse(text)) for text in ("p@10", "MRR", "mrr@10", "f1@20")] == [
        "P@10",
        "MRR",
        "MRR@10",
        "F1@20",
    ]
