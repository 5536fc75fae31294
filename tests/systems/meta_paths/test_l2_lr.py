"""The fitted weights against their optimum, what they are fitted to, and the ranking."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.history import History, history_before
from cocite.corpus.records import CitationRecord, PaperRecord
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import experiment, tasks
from cocite.evaluation.metrics import means
from cocite.protocols import Query
from cocite.retrieval.index.index import Index
from cocite.systems.meta_paths import l2_lr
from cocite.systems.meta_paths.features import MetaPathFeatures
from cocite.systems.meta_paths.l2_lr import L2Lr, L2LrRanker, L2LrSettings, fit_l2_lr, fit_weights, held_out


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=2, split=(2, 1))


@pytest.fixture(scope="module")
def training(corpus: Corpus) -> History:
    return History(corpus, np.asarray(corpus.split == 1))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([0.1, 1.0, 10.0]))
def test_no_weight_can_be_moved_to_a_lower_loss(seed: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=(60, 3)) * [1.0, 20.0, 0.01]).astype(np.float32)
    labels = values @ np.array([1.0, -0.05, 30.0]) + rng.normal(size=60) > 0
    if labels.all() or not labels.any():
        return
    scale = values.astype(np.float64).std(axis=0)
    x, weights = values / scale, fit_weights(values, labels, penalty) * scale
    # The intercept is free: its own gradient is zero, too, at a value that bisection finds.
    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        too_high = (1 / (1 + np.exp(-(x @ weights + middle))) - labels).sum() > 0
        low, high = (low, middle) if too_high else (middle, high)
    residual = 1 / (1 + np.exp(-(x @ weights + low))) - labels
    assert x.T @ residual + penalty * weights == pytest.approx(np.zeros(3), abs=2e-3)


def test_a_feature_that_never_differs_weighs_nothing() -> None:
    values = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], np.float32)
    weights = fit_weights(values, np.array([False, True, True]), 1.0)
    assert abs(weights[0]) < 1e-3 < weights[1]


def test_the_latest_papers_are_held_out(training: History) -> None:
    rows = held_out(training, 20, np.random.default_rng(0))
    linked = training.citing & (training.cites.degrees > 0)
    others = np.flatnonzero(linked & ~np.isin(np.arange(len(linked)), rows))
    assert len(rows) == 20
    assert linked[rows].all()
    assert training.corpus.years[rows].min() >= training.corpus.years[others].max()
    assert len(held_out(training, 10_000, np.random.default_rng(0))) == linked.sum() // 2


def test_links_of_queries_and_of_later_splits_reach_no_feature(
    corpus: Corpus, training: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[History] = []

    class Watched(MetaPathFeatures):
        def __init__(self, history: History, fields: object) -> None:
            known.append(history)
            super().__init__(history, fields)  # type: ignore[arg-type]

    examples: list[np.ndarray] = []
    original = l2_lr._examples

    def watch(features, history, queries, *others):
        *pairs, labels = original(features, history, queries, *others)
        examples.append(labels)
        assert not features.history.citing[queries].any()
        return *pairs, labels

    monkeypatch.setattr(l2_lr, "MetaPathFeatures", Watched)
    monkeypatch.setattr(l2_lr, "_examples", watch)
    fit_l2_lr(training, L2LrSettings(queries=30))
    [history] = known
    assert not (history.citing & ~training.citing).any()
    rows = np.flatnonzero(training.citing & ~history.citing)
    assert np.concatenate(examples).sum() == corpus.cites.degrees[rows].sum(), "each citation is an example"


def test_the_fit_is_that_of_its_seed(training: History) -> None:
    one, same, other = (fit_l2_lr(training, L2LrSettings(queries=30), seed) for seed in (0, 0, 1))
    assert one.weights.tolist() == same.weights.tolist() != other.weights.tolist()


def test_it_ranks_better_than_counts_of_citations_or_venues(corpus: Corpus, training: History) -> None:
    index = Index.build(corpus, history_before(corpus, "test"))
    task = tasks.global_(corpus, "test")
    model = fit_l2_lr(training, L2LrSettings(queries=60))
    alone = [L2Lr((name,), np.ones(1)) for name in ("in-citations", "P-venue-P>P")]
    found = [
        means(experiment.run(task, L2LrRanker(index, each).search, k=100).hits, ("R@20",))["R@20"]
        for each in (model, *alone)
    ]
    assert found[0] > max(found[1:]) + 0.1
    assert min(found[1:]) > 0


def test_scores_are_the_weighted_features_and_a_query_never_finds_itself(
    corpus: Corpus, training: History
) -> None:
    index = Index.build(corpus, history_before(corpus, "test"))
    model = L2Lr(("P-terms-P", "in-citations", "an unknown one"), np.array([2.0, -0.5, 9.0]))
    ranker = L2LrRanker(index, model)
    [query] = tasks.global_(corpus, "test", sample=1).queries
    made = ranker.features.of_papers(np.array([query.paper], np.int32))
    expected = 2.0 * made["P-terms-P"][0] - 0.5 * made["in-citations"][0]
    scores = ranker.scores([query])[0]
    free = np.isfinite(scores)
    assert scores[free] == pytest.approx(expected[free], abs=1e-5)
    assert not free[query.paper]
    ranking = ranker.search([query, Query("q", title=query.title)], 7)
    assert ranking.rows.shape == (2, 7)
    assert query.paper not in ranking.rows[0]


def test_a_period_without_links_is_refused(corpus: Corpus, tmp_path) -> None:
    bare = build([PaperRecord(f"p{i}", f"title {i}", year=2000) for i in range(4)], tmp_path / "bare")
    with pytest.raises(InputError, match="fewer than two papers of the training period cite others"):
        fit_l2_lr(History.all(bare), L2LrSettings())


def test_a_period_whose_papers_cite_all_others_is_refused(tmp_path) -> None:
    papers = [PaperRecord(f"p{i}", f"title {i}", year=2000) for i in range(2)]
    links = [CitationRecord("p0", "p1"), CitationRecord("p1", "p0")]
    with pytest.raises(InputError, match="cite all papers of the training period"):
        fit_l2_lr(History.all(build([*papers, *links], tmp_path / "both")), L2LrSettings())
