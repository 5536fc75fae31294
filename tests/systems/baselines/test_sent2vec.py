"""Sent2Vec against its equations in float64, what is drawn, and which texts have a vector."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.goodness_of_fit import fits
from numpy.typing import NDArray

from cocite.systems.baselines.citing_pairs import noise_loss, same_paper
from cocite.systems.baselines.sent2vec import (
    Predictions,
    Sent2VecSettings,
    bigrams,
    prediction_shares,
    sent2vec,
    training_sentences,
    with_bigrams,
)
from cocite.systems.baselines.texts import CitingTexts, only_words
from cocite.text.paragraphs import SPECIAL, Paragraphs

SETTINGS = Sent2VecSettings(dimension=12, buckets=400, epochs=2, batch=16)
WORDS = 50


def sentences(seed: int = 0, lengths: tuple[int, ...] = (5, 0, 1, 2, 9, 3)) -> Paragraphs:
    rng = np.random.default_rng(seed)
    tokens = rng.integers(SPECIAL, WORDS, sum(lengths)).astype(np.int32)
    return Paragraphs(np.concatenate([[0], np.cumsum(lengths)]), tokens)


def rows(paragraphs: Paragraphs) -> list[list[int]]:
    return [paragraphs.take(np.array([i])).tokens.tolist() for i in range(len(paragraphs))]


def bigram(first: int, second: int) -> int:
    """The number of a bigram, from a sentence of its own."""
    return int(bigrams(Paragraphs(np.array([0, 2]), np.array([first, second], np.int32)), WORDS, 400)[0][0])


def test_a_step_costs_what_the_equations_say() -> None:
    """Each word from the mean of the other n-grams (section 2), noise with k times the mean, in float64."""
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(WORDS + 400, 6)), rng.normal(size=(WORDS, 6))
    some = sentences()
    settings = Sent2VecSettings(buckets=400, dropped=0)
    drawn = Predictions.draw(some, np.ones(WORDS), settings, rng)
    noise = rng.integers(SPECIAL, WORDS, 30)
    made = noise_loss(
        drawn.means(torch.from_numpy(source)),
        torch.from_numpy(target[drawn.targets]),
        torch.from_numpy(target[noise]),
        same_paper(drawn.targets, noise),
        negatives=10,
    )
    losses = []
    for words in rows(some):
        for place, word in enumerate(words):
            parts = [w for i, w in enumerate(words) if i != place]
            parts += [
                bigram(words[i], words[i + 1]) for i in range(len(words) - 1) if place not in (i, i + 1)
            ]
            if not parts:
                continue
            mean = sum(source[part] for part in parts) / len(parts)
            loss = np.log(1 + np.exp(-target[word] @ mean))
            far = [np.log(1 + np.exp(target[n] @ mean)) * (n != word) for n in noise.tolist()]
            losses.append(loss + 10 * sum(far) / len(far))
    assert len(losses) == len(drawn.targets) == 5 + 2 + 9 + 3
    assert float(made) == pytest.approx(np.mean(losses), rel=1e-12)


def test_gradients_reach_what_a_word_is_predicted_from_alone() -> None:
    some = Paragraphs(np.array([0, 3]), np.array([7, 8, 9], np.int32))
    settings = Sent2VecSettings(buckets=400, dropped=0)
    drawn = Predictions.draw(some, np.eye(WORDS)[7], settings, np.random.default_rng(0))
    assert drawn.targets.tolist() == [7]
    source = torch.ones(WORDS + 400, 2, dtype=torch.float64, requires_grad=True)
    drawn.means(source).sum().backward()
    gradient = source.grad.to_dense()[:, 0]  # type: ignore[union-attr]
    assert gradient.nonzero().ravel().tolist() == sorted([8, 9, bigram(8, 9)])
    torch.testing.assert_close(gradient[[8, 9]], torch.full((2,), 1 / 3, dtype=torch.float64))


def test_dropped_bigrams_are_drawn_evenly_and_words_never_dropped() -> None:
    some = Paragraphs(np.array([0, 6]), np.arange(10, 16, dtype=np.int32))
    settings = Sent2VecSettings(buckets=400, dropped=2)
    rng = np.random.default_rng(3)
    numbers = [bigram(i, i + 1) for i in range(10, 15)]
    kept: list[NDArray[np.int64]] = []
    for _ in range(3000):
        read = Predictions.draw(some, np.ones(WORDS), settings, rng).sentences.tokens
        assert read[read < WORDS].tolist() == list(range(10, 16))
        assert (read >= WORDS).sum() == 3, "five bigrams, two of them dropped"
        kept.append(np.flatnonzero(np.isin(numbers, read)))
    # Of ten ways to drop two of five each is as likely.
    ways = np.array([np.ravel_multi_index(np.setdiff1d(np.arange(5), way), (5, 5)) for way in kept], np.int32)
    expected = np.triu(np.full((5, 5), 0.1), 1).ravel()
    assert fits(ways, expected)


def test_words_are_predicted_as_often_as_their_share_says() -> None:
    some = Paragraphs(np.array([0, 3]), np.array([10, 11, 12], np.int32))
    share = np.zeros(WORDS)
    share[[10, 11, 12]] = [1.0, 0.5, 0.1]
    rng = np.random.default_rng(5)
    drawn = np.concatenate([Predictions.draw(some, share, SETTINGS, rng).targets for _ in range(5000)])
    expected = share / share.sum()
    assert fits(drawn.astype(np.int32), expected)
    counts = np.array([0, 50, 949, 1])
    frequency = counts[1:] / 1000
    formula = np.minimum(1, np.sqrt(0.01 / frequency) + 0.01 / frequency)
    np.testing.assert_allclose(prediction_shares(counts, 0.01)[1:], formula)


def test_a_bigram_is_of_its_order_and_within_a_sentence() -> None:
    assert bigram(7, 8) != bigram(8, 7)
    read = with_bigrams(sentences(), WORDS, 400)
    assert read.lengths.tolist() == [9, 0, 1, 3, 17, 5]
    assert rows(read)[3] == [rows(sentences())[3][0], bigram(*rows(sentences())[3]), rows(sentences())[3][1]]
    alone = with_bigrams(sentences(), WORDS, 0)
    assert np.array_equal(alone.tokens, sentences().tokens)


@pytest.fixture(scope="module")
def vectors(texts: CitingTexts) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return sent2vec(texts, SETTINGS, seed=4)


def test_later_papers_are_not_trained_on(texts: CitingTexts) -> None:
    some = training_sentences(texts)
    history = texts.history
    assert not history.citing.all()
    earlier = texts.papers.take(np.flatnonzero(history.citing))
    # Sentences and titles hold the words of the papers, each once, besides those of the contexts.
    words = len(only_words(texts.contexts).tokens) + len(earlier.tokens)
    assert len(some.tokens) == words
    assert len(some) > len(texts.contexts) + len(earlier), "abstracts are split into sentences"


def test_vectors_are_means_of_what_was_seen(
    texts: CitingTexts, vectors: tuple[NDArray[np.float32], NDArray[np.float32]]
) -> None:
    ngrams, papers = vectors
    size = texts.reader.size
    assert ngrams.shape == (size + 400, 12)
    assert papers.shape == (len(texts.history.corpus), 12)
    assert ngrams.dtype == papers.dtype == np.float32
    seen = np.zeros(size, bool)
    seen[training_sentences(texts).tokens] = True
    np.testing.assert_array_equal(ngrams[:size].any(axis=1), seen)
    assert ngrams[size:].any()
    paper = int(np.flatnonzero(texts.papers.lengths > 3)[0])
    read = with_bigrams(texts.papers.take(np.array([paper])), size, 400).tokens
    np.testing.assert_allclose(papers[paper], ngrams[read].mean(axis=0), rtol=1e-4, atol=1e-6)


def test_the_seed_alone_decides(
    texts: CitingTexts, vectors: tuple[NDArray[np.float32], NDArray[np.float32]]
) -> None:
    same, other = sent2vec(texts, SETTINGS, seed=4), sent2vec(texts, SETTINGS, seed=5)
    for one, two, three in zip(vectors, same, other, strict=True):
        np.testing.assert_array_equal(one, two)
        assert (one != three).any()
