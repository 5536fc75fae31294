"""NCN's training and scoring on a synthetic corpus whose contexts tell of what they cite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.evaluation.oracle import add_relevant
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.systems.baselines.filters import PADDING
from cocite.systems.baselines.ncn import NcnSettings
from cocite.systems.baselines.ncn_reranker import NcnReader, NcnReranker, train_ncn
from cocite.systems.baselines.texts import CitingTexts
from cocite.text.paragraphs import GAP, OTHER, SPECIAL, UNKNOWN

SETTINGS = NcnSettings(
    dimension=16, channels=16, widths=(2, 3), epochs=3, batch=32, learning_rate=0.003, dropout=0.0, words=30
)


@pytest.fixture(scope="module")
def reranker(texts: CitingTexts) -> NcnReranker:
    model = train_ncn(texts, SETTINGS, seed=1)
    return NcnReranker(NcnReader(texts.history, texts.reader, SETTINGS), model)


def oracle(corpus: Corpus, count: int = 60) -> tuple[list[Query], Ranking, np.ndarray]:
    """Training queries with 20 random candidates, among them what each cites."""
    task = tasks.build(corpus, "local", "train", sample=count, seed=0)
    rng = np.random.default_rng(2)
    rows = np.stack([rng.permutation(len(corpus))[:20] for _ in task.queries]).astype(np.int32)
    ranking = add_relevant(Ranking(rows, np.zeros(rows.shape, np.float32)), task.relevant)
    relevant = np.stack([np.isin(found, task.relevant[i]) for i, found in enumerate(ranking.rows)])
    return list(task.queries), ranking, relevant


def test_what_it_was_trained_on_scores_above_chance(citing_corpus: Corpus, reranker: NcnReranker) -> None:
    queries, candidates, relevant = oracle(citing_corpus)
    scores = reranker.score(queries, candidates)
    assert (scores < 0).all(), "logarithms of probabilities"
    rank = (-scores).argsort(axis=1).argsort(axis=1)
    assert rank[relevant].mean() < 0.7 * 9.5, "9.5 by chance"


def test_context_and_authors_count(citing_corpus: Corpus, reranker: NcnReranker) -> None:
    queries, candidates, _ = oracle(citing_corpus, 6)
    scores = reranker.score(queries, candidates)
    swapped = [
        replace(query, context=other.context) for query, other in zip(queries, queries[::-1], strict=True)
    ]
    strangers = [replace(query, authors=("Nobody at All",)) for query in queries]
    for others in (swapped, strangers):
        assert np.abs(reranker.score(others, candidates) - scores).max() > 1e-3, (
            "more than what rounding changes"
        )
    np.testing.assert_array_equal(reranker.score(queries, candidates), scores)


def test_padding_is_never_scored_and_candidates_alone_score_as_among_others(
    citing_corpus: Corpus, reranker: NcnReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries, candidates, _ = oracle(citing_corpus, 5)
    rows = candidates.rows.copy()
    rows[2, 7:] = NO_ROW
    whole = reranker.score(queries, Ranking(rows, candidates.scores))
    assert np.isneginf(whole[2, 7:]).all()
    assert np.isfinite(whole[rows != NO_ROW]).all()
    monkeypatch.setattr("cocite.systems.baselines.ncn_reranker.PAIRS", 7)
    np.testing.assert_allclose(reranker.score(queries, Ranking(rows, candidates.scores)), whole, rtol=1e-4)
    none = Ranking(np.full((1, 3), NO_ROW, np.int32), np.zeros((1, 3), np.float32))
    assert np.isneginf(reranker.score(queries[:1], none)).all()


def test_the_seed_alone_decides(texts: CitingTexts) -> None:
    short = SETTINGS.model_copy(update={"epochs": 1})
    one, same, other = (train_ncn(texts, short, seed=seed).state_dict() for seed in (1, 1, 2))
    for name, value in one.items():
        torch.testing.assert_close(value, same[name], rtol=0, atol=0)
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


def test_words_that_are_not_told_apart_are_unknown(texts: CitingTexts) -> None:
    settings = NcnSettings(vocabulary=20, authors=3, words=4, title=3, people=2)
    reader = NcnReader(texts.history, texts.reader, settings)
    assert reader.sizes == (SPECIAL + 20, 4)
    corpus = texts.history.corpus
    read = reader.contexts(corpus.contexts.take("text", np.arange(30)))
    assert read.shape[1] <= 4
    assert set(np.unique(read)) <= {PADDING, UNKNOWN, GAP, OTHER, *range(SPECIAL, SPECIAL + 20)}
    titles = reader.titles(np.arange(30))
    assert titles.shape[1] == 3
    assert titles.max() < SPECIAL + 20
    assert not np.isin(titles, [GAP, OTHER]).any(), "the marks of a title's ends"
