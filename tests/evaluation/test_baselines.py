"""The BM25 baseline: both kinds of queries, and the reference tables of the ACL corpus."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.evaluation import experiment, tasks
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.evaluation.metrics import means
from cocite.protocols import Query
from cocite.retrieval.query_forms import QueryForm


def test_the_baseline_mixes_kinds_of_queries_and_never_finds_the_query_itself(split_corpus):
    baseline = Bm25Baseline(lexical_index(split_corpus))
    local, whole = tasks.local(split_corpus, sample=5), tasks.global_(split_corpus, sample=5)
    mixed = [query for pair in zip(local.queries, whole.queries, strict=True) for query in pair]
    ranking = baseline.search(mixed, 30)
    np.testing.assert_array_equal(ranking.rows[::2], baseline.local.search(local.queries, 30).rows)
    np.testing.assert_array_equal(ranking.rows[1::2], baseline.global_.search(whole.queries, 30).rows)
    assert not (ranking.rows == np.array([query.paper for query in mixed])[:, None]).any()


def test_a_form_of_the_query_is_used_for_both_kinds(split_corpus):
    index = lexical_index(split_corpus)
    baseline = Bm25Baseline(index, QueryForm.TITLE)
    assert (baseline.name, Bm25Baseline(index).name) == ("bm25-title", "bm25-auto")
    [query] = tasks.local(split_corpus, sample=1).queries
    titled = Query("t", title=query.title, paper=query.paper)
    np.testing.assert_array_equal(baseline.search([query], 9).rows, baseline.search([titled], 9).rows)


def test_a_lexical_index_knows_no_links(split_corpus):
    index = lexical_index(split_corpus)
    assert list(index.papers) == ["text"]
    assert index.history.is_cold
    assert (len(index.contexts), dict(index.vectors)) == (0, {})


# The reference table of the ACL corpus: queries of the whole test split.
REFERENCE = {
    QueryForm.TITLE: {"P@10": 0.083, "P@20": 0.061, "R@20": 0.140, "F1@20": 0.085, "MRR": 0.267, "R@1000": 0.533},
    QueryForm.TITLE_ABSTRACT: {
        "P@10": 0.119, "P@20": 0.085, "R@20": 0.200, "F1@20": 0.120, "MRR": 0.368, "R@1000": 0.629,
    },
}  # fmt: skip


@pytest.mark.acl
@pytest.mark.parametrize("form", [*REFERENCE])
def test_bm25_reproduces_the_global_reference_table(acl_store, form):
    task = tasks.global_(acl_store)
    assert len(task) == 2177
    outcome = experiment.run(task, Bm25Baseline(lexical_index(acl_store), form).search, k=1000)
    assert means(outcome.hits, [*REFERENCE[form]]) == pytest.approx(REFERENCE[form], abs=0.005)


@pytest.mark.acl
def test_bm25_reproduces_the_local_reference_on_a_sample(acl_store):
    task = tasks.local(acl_store, sample=4000, seed=1)
    outcome = experiment.run(task, Bm25Baseline(lexical_index(acl_store)).search, k=1000)
    # The standard error of 4,000 queries is below .007 for each of these.
    expected = {"MRR": 0.186, "R@10": 0.304, "R@100": 0.563, "R@1000": 0.807, "MAP@10": 0.163}
    assert means(outcome.hits, [*expected]) == pytest.approx(expected, abs=0.02)
