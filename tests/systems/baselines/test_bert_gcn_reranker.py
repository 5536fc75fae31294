"""The training and scoring of BERT-GCN on a synthetic corpus whose contexts tell of what they cite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.evaluation.oracle import add_relevant
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.systems.baselines.bert_gcn import BertGcnSettings
from cocite.systems.baselines.bert_gcn_reranker import UNCITED, BertGcnInputs, BertGcnReranker, train_bert_gcn
from cocite.systems.baselines.texts import CitingTexts
from cocite.systems.baselines.word2vec import Word2VecSettings, word2vec

SETTINGS = BertGcnSettings(
    heads=2,
    inner=16,
    words=30,
    dropout=0.0,
    graph_hidden=8,
    graph=6,
    graph_epochs=40,
    batch=32,
    learning_rate=0.003,
)
Vectors = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def start(texts: CitingTexts) -> Vectors:
    return word2vec(texts, Word2VecSettings(dimension=16, epochs=5))


def trained(texts: CitingTexts, start: Vectors, settings: BertGcnSettings, seed: int = 1) -> BertGcnReranker:
    model = train_bert_gcn(texts, start, settings, seed=seed)
    return BertGcnReranker(BertGcnInputs(texts, start[0], settings), model)


@pytest.fixture(scope="module")
def reranker(texts: CitingTexts, start: Vectors) -> BertGcnReranker:
    return trained(texts, start, SETTINGS.model_copy(update={"epochs": 5}))


def oracle(corpus: Corpus, split: str, count: int) -> tuple[list[Query], Ranking, np.ndarray]:
    """Queries of a split with 20 random candidates, among them what each cites."""
    task = tasks.build(corpus, "local", split, sample=count, seed=0)
    rng = np.random.default_rng(2)
    rows = np.stack([rng.permutation(len(corpus))[:20] for _ in task.queries]).astype(np.int32)
    ranking = add_relevant(Ranking(rows, np.zeros(rows.shape, np.float32)), task.relevant)
    relevant = np.stack([np.isin(found, task.relevant[i]) for i, found in enumerate(ranking.rows)])
    return list(task.queries), ranking, relevant


def test_contexts_of_later_papers_find_what_they_cite_above_chance(
    citing_corpus: Corpus, reranker: BertGcnReranker
) -> None:
    queries, candidates, relevant = oracle(citing_corpus, "dev", 60)
    rank = (-reranker.score(queries, candidates)).argsort(axis=1, kind="stable").argsort(axis=1)
    assert rank[relevant].mean() < 0.75 * 9.5, "9.5 by chance"


def test_context_and_citing_paper_count(citing_corpus: Corpus, reranker: BertGcnReranker) -> None:
    queries, candidates, relevant = oracle(citing_corpus, "train", 40)
    scores = reranker.score(queries, candidates)
    swapped = [
        replace(query, context=other.context) for query, other in zip(queries, queries[::-1], strict=True)
    ]
    without = [replace(query, title="", abstract="") for query in queries]
    np.testing.assert_array_equal(reranker.score(queries, candidates), scores)
    assert not np.allclose(reranker.score(without, candidates), scores)
    of_another = reranker.score(swapped, candidates)
    mine, theirs = ((-each).argsort(axis=1).argsort(axis=1)[relevant].mean() for each in (scores, of_another))
    assert mine < theirs - 1, "what is cited is known by the context, and not by how often it is cited alone"


def test_scores_are_logarithms_of_a_distribution_over_what_is_cited(
    citing_corpus: Corpus, reranker: BertGcnReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries, _, _ = oracle(citing_corpus, "dev", 5)
    every = np.tile(np.arange(-1, len(citing_corpus), dtype=np.int32), (5, 1))
    candidates = Ranking(every, np.zeros(every.shape, np.float32))
    scores = reranker.score(queries, candidates)
    classes = reranker.inputs.classes
    cited = np.isin(every[0], classes)
    assert np.isneginf(scores[:, 0]).all()
    assert every[0, 0] == NO_ROW
    assert (scores[:, ~cited][:, 1:] == np.float32(UNCITED)).all()
    np.testing.assert_allclose(np.exp(scores[:, cited]).sum(1), 1, rtol=1e-4)
    monkeypatch.setattr("cocite.systems.baselines.bert_gcn_reranker.QUERIES", 2)
    np.testing.assert_allclose(reranker.score(queries, candidates), scores, rtol=1e-4)


def test_classes_are_what_contexts_of_the_history_cite(texts: CitingTexts, reranker: BertGcnReranker) -> None:
    classes = reranker.inputs.classes
    assert set(classes.tolist()) == set(texts.cited.indices.tolist())
    assert 0 < len(classes) < len(texts.history.corpus)
    np.testing.assert_array_equal(reranker.inputs.class_of(classes), np.arange(len(classes)))
    others = np.setdiff1d(np.arange(len(texts.history.corpus)), classes)
    assert (reranker.inputs.class_of(others) == -1).all()


def test_the_seed_alone_decides(texts: CitingTexts, start: Vectors) -> None:
    short = SETTINGS.model_copy(update={"epochs": 1, "dropout": 0.1})
    one, same, other = (train_bert_gcn(texts, start, short, seed=seed).state_dict() for seed in (1, 1, 2))
    for name, value in one.items():
        torch.testing.assert_close(value, same[name], rtol=0, atol=0)
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


def test_the_future_changes_nothing(texts: CitingTexts, other_future: CitingTexts, start: Vectors) -> None:
    short = SETTINGS.model_copy(update={"epochs": 1})
    one, other = (trained(each, start, short) for each in (texts, other_future))
    for name, value in one.model.state_dict().items():
        torch.testing.assert_close(value, other.model.state_dict()[name], rtol=0, atol=0)
    queries, candidates, _ = oracle(texts.history.corpus, "test", 5)
    np.testing.assert_array_equal(one.score(queries, candidates), other.score(queries, candidates))
