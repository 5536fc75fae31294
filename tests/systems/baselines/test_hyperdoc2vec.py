"""HyperDoc2Vec: what a step trains, and that a seed gives the same vectors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cocite.systems.baselines.citing_pairs import CitingPairs, noise_loss, same_paper
from cocite.systems.baselines.hyperdoc2vec import HyperDoc2VecSettings, hyperdoc2vec
from cocite.systems.baselines.texts import CitingTexts, only_words

SETTINGS = HyperDoc2VecSettings(epochs=1, batch=64, noise=20, learning_rate=0.03)
Start = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def start(texts: CitingTexts) -> Start:
    rng = np.random.default_rng(1)
    words, papers = (
        rng.normal(size=(n, 8)).astype(np.float32) for n in (texts.reader.size, len(texts.papers))
    )
    return words, papers


def mean_loss(texts: CitingTexts, words: np.ndarray, papers: np.ndarray) -> float:
    """Loss of queries as they are at ranking: the mean of the context's words alone."""
    contexts = only_words(texts.contexts)
    losses = []
    for context, target, noise in CitingPairs(texts, noise=100, power=0.75, seed=9).batches(256):
        read = contexts.take(context)
        queries = torch.nn.functional.embedding_bag(
            torch.from_numpy(read.tokens.astype(np.int64)),
            torch.from_numpy(words),
            torch.from_numpy(read.indptr[:-1]),
            mode="mean",
        )
        vectors = torch.from_numpy(papers)
        losses.append(
            noise_loss(queries, vectors[target], vectors[noise], same_paper(target, noise), 5).item()
        )
    return float(np.mean(losses))


def test_training_lowers_the_loss_and_reports_its_pairs(texts: CitingTexts, start: Start) -> None:
    advanced: list[int] = []
    settings = SETTINGS.model_copy(update={"epochs": 4})
    words, papers = hyperdoc2vec(texts, start, settings, advance=advanced.append)
    assert sum(advanced) == 4 * len(texts.cited.indices)
    scaled = [vectors * 0.1 / np.linalg.norm(vectors, axis=1).mean() for vectors in start]
    assert mean_loss(texts, words, papers) < mean_loss(texts, *scaled)


def test_words_that_no_context_has_keep_their_scaled_vectors(texts: CitingTexts, start: Start) -> None:
    words, _ = hyperdoc2vec(texts, start, SETTINGS)
    read = np.zeros(len(words), bool)
    read[only_words(texts.contexts).tokens] = True
    scaled = start[0] * (SETTINGS.start / np.linalg.norm(start[0], axis=1).mean())
    np.testing.assert_allclose(words[~read], scaled[~read], rtol=1e-5)
    assert (~np.isclose(words[read], scaled[read])).any(axis=1).all()


def test_the_seed_alone_decides(texts: CitingTexts, start: Start) -> None:
    one, two, other = (hyperdoc2vec(texts, start, SETTINGS, seed=seed) for seed in (0, 0, 1))
    for first, second, third in zip(one, two, other, strict=True):
        np.testing.assert_array_equal(first, second)
        assert (first != third).any()
