"""The training and scoring of DualCon and DualEnh on a synthetic corpus whose contexts tell of what they cite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.evaluation.oracle import add_relevant
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.systems.baselines.dual import DualSettings
from cocite.systems.baselines.dual_reranker import DualInputs, DualReranker, train_dual
from cocite.systems.baselines.texts import CitingTexts
from cocite.systems.baselines.word2vec import Word2VecSettings, word2vec

SETTINGS = DualSettings(
    hidden=12,
    attention=8,
    author_dimension=6,
    channels=4,
    words=30,
    paper=30,
    batch=32,
    epochs=4,
    learning_rate=0.01,
)


@pytest.fixture(scope="module")
def start(texts: CitingTexts) -> np.ndarray:
    return word2vec(texts, Word2VecSettings(dimension=16, epochs=3))[0]


def reranker(
    texts: CitingTexts, start: np.ndarray, settings: DualSettings, *, enhanced: bool
) -> DualReranker:
    model = train_dual(texts, start, settings, enhanced=enhanced, seed=1)
    return DualReranker("DualEnh" if enhanced else "DualCon", DualInputs(texts, settings), model)


@pytest.fixture(scope="module")
def enhanced(texts: CitingTexts, start: np.ndarray) -> DualReranker:
    return reranker(texts, start, SETTINGS, enhanced=True)


@pytest.fixture(scope="module")
def contextual(texts: CitingTexts, start: np.ndarray) -> DualReranker:
    return reranker(texts, start, SETTINGS, enhanced=False)


def oracle(corpus: Corpus, split: str, count: int) -> tuple[list[Query], Ranking, np.ndarray]:
    """Queries of a split with 20 random candidates, among them what each cites."""
    task = tasks.build(corpus, "local", split, sample=count, seed=0)
    rng = np.random.default_rng(2)
    rows = np.stack([rng.permutation(len(corpus))[:20] for _ in task.queries]).astype(np.int32)
    ranking = add_relevant(Ranking(rows, np.zeros(rows.shape, np.float32)), task.relevant)
    relevant = np.stack([np.isin(found, task.relevant[i]) for i, found in enumerate(ranking.rows)])
    return list(task.queries), ranking, relevant


def mean_rank(scores: np.ndarray, relevant: np.ndarray) -> float:
    return float((-scores).argsort(axis=1).argsort(axis=1)[relevant].mean())


@pytest.mark.parametrize("which", ["enhanced", "contextual"])
def test_contexts_of_later_papers_find_what_they_cite_above_chance(
    which: str, citing_corpus: Corpus, request: pytest.FixtureRequest
) -> None:
    queries, candidates, relevant = oracle(citing_corpus, "dev", 60)
    scores = request.getfixturevalue(which).score(queries, candidates)
    assert mean_rank(scores, relevant) < 0.75 * 9.5, "9.5 by chance"


def test_context_citing_paper_authors_and_year_count(citing_corpus: Corpus, enhanced: DualReranker) -> None:
    queries, candidates, _ = oracle(citing_corpus, "train", 6)
    scores = enhanced.score(queries, candidates)
    swapped = zip(queries, queries[::-1], strict=True)
    others = [
        [replace(query, context=other.context) for query, other in swapped],
        [replace(query, title="", abstract="") for query in queries],
        [replace(query, year=1) for query in queries],
    ]
    for changed in others:
        assert np.abs(enhanced.score(changed, candidates) - scores).max() > 1e-4
    np.testing.assert_array_equal(enhanced.score(queries, candidates), scores)


def test_dualcon_reads_no_citing_paper(citing_corpus: Corpus, contextual: DualReranker) -> None:
    queries, candidates, _ = oracle(citing_corpus, "train", 6)
    without = [replace(query, title="", abstract="") for query in queries]
    np.testing.assert_array_equal(
        contextual.score(without, candidates), contextual.score(queries, candidates)
    )


def test_candidates_alone_score_as_among_others(
    citing_corpus: Corpus, enhanced: DualReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries, candidates, _ = oracle(citing_corpus, "dev", 5)
    rows = candidates.rows.copy()
    rows[2, 7:] = NO_ROW
    whole = enhanced.score(queries, Ranking(rows, candidates.scores))
    assert np.isneginf(whole[2, 7:]).all()
    assert np.isfinite(whole[rows != NO_ROW]).all()
    monkeypatch.setattr("cocite.systems.baselines.dual_reranker.PAPERS", 3)
    monkeypatch.setattr("cocite.systems.baselines.dual_reranker.PAIRS", 2)
    np.testing.assert_allclose(
        enhanced.score(queries, Ranking(rows, candidates.scores)), whole, rtol=1e-4, atol=1e-5
    )
    none = Ranking(np.full((1, 3), NO_ROW, np.int32), np.zeros((1, 3), np.float32))
    assert np.isneginf(enhanced.score(queries[:1], none)).all()


def test_the_seed_alone_decides(texts: CitingTexts, start: np.ndarray) -> None:
    short = SETTINGS.model_copy(update={"epochs": 1})
    one, same, other = (
        train_dual(texts, start, short, enhanced=True, seed=seed).state_dict() for seed in (1, 1, 2)
    )
    for name, value in one.items():
        torch.testing.assert_close(value, same[name], rtol=0, atol=0)
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


def test_the_future_changes_nothing(texts: CitingTexts, other_future: CitingTexts, start: np.ndarray) -> None:
    short = SETTINGS.model_copy(update={"epochs": 1})
    one, other = (reranker(each, start, short, enhanced=True) for each in (texts, other_future))
    for name, value in one.model.state_dict().items():
        torch.testing.assert_close(value, other.model.state_dict()[name], rtol=0, atol=0)
    queries, _, _ = oracle(texts.history.corpus, "test", 5)
    known = np.flatnonzero(texts.history.citing)[None].repeat(5, 0).astype(np.int32)
    candidates = Ranking(known, np.zeros(known.shape, np.float32))
    np.testing.assert_array_equal(one.score(queries, candidates), other.score(queries, candidates))
