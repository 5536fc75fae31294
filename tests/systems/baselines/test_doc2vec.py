"""Doc2Vec: which words and papers get a vector, and that a seed gives the same ones."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.errors import InputError
from cocite.systems.baselines.doc2vec import Doc2VecSettings, doc2vec
from cocite.systems.baselines.texts import CitingTexts, mean_vectors, only_words

SETTINGS = Doc2VecSettings(dimension=12, epochs=2)


@pytest.fixture(scope="module")
def vectors(texts: CitingTexts) -> tuple[np.ndarray, np.ndarray]:
    return doc2vec(texts, SETTINGS, seed=4)


def test_vectors_have_the_readers_numbers(texts: CitingTexts, vectors: tuple[np.ndarray, np.ndarray]) -> None:
    words, papers = vectors
    assert words.shape == (texts.reader.size, 12)
    assert papers.shape == (len(texts.history.corpus), 12)
    assert words.dtype == papers.dtype == np.float32
    assert np.isfinite(words).all()
    assert np.isfinite(papers).all()


def test_every_paper_with_words_has_a_vector_and_their_mean_is_zero(
    texts: CitingTexts, vectors: tuple[np.ndarray, np.ndarray]
) -> None:
    words, papers = vectors
    np.testing.assert_array_equal(papers.any(axis=1), texts.papers.lengths > 0)
    np.testing.assert_allclose(papers[texts.papers.lengths > 0].mean(axis=0), 0, atol=1e-5)
    contexts = mean_vectors(only_words(texts.contexts), words)
    np.testing.assert_allclose(contexts.mean(axis=0), 0, atol=1e-5)


def test_rare_words_may_be_left_out(texts: CitingTexts) -> None:
    words, papers = doc2vec(texts, SETTINGS.model_copy(update={"min_count": 5}), seed=4)
    counts = np.bincount(texts.papers.tokens, minlength=len(words))
    assert (counts[counts > 0] < 5).any()
    # All words but the frequent ones are the same vector: none, less the mean that is subtracted.
    assert len(np.unique(words[counts < 5], axis=0)) == 1
    assert len(np.unique(words[counts >= 5], axis=0)) == (counts >= 5).sum()
    assert np.isfinite(papers).all()
    with pytest.raises(InputError, match=r"^d2v\.min_count: no word stands 10000 times in the texts"):
        doc2vec(texts, SETTINGS.model_copy(update={"min_count": 10_000}))


def test_the_seed_alone_decides(texts: CitingTexts, vectors: tuple[np.ndarray, np.ndarray]) -> None:
    same, other = doc2vec(texts, SETTINGS, seed=4), doc2vec(texts, SETTINGS, seed=5)
    for one, two, three in zip(vectors, same, other, strict=True):
        np.testing.assert_array_equal(one, two)
        assert (one != three).any()
