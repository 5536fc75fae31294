"""Word2Vec: which words and papers get a vector, and that a seed gives the same ones."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.errors import InputError
from cocite.systems.baselines.texts import CitingTexts, mean_vectors, only_words, with_citations
from cocite.systems.baselines.word2vec import Word2VecSettings, word2vec
from cocite.text.paragraphs import SPECIAL

SETTINGS = Word2VecSettings(dimension=12, epochs=2)


@pytest.fixture(scope="module")
def vectors(texts: CitingTexts) -> tuple[np.ndarray, np.ndarray]:
    return word2vec(texts, SETTINGS, seed=4)


def test_vectors_have_the_readers_numbers(texts: CitingTexts, vectors: tuple[np.ndarray, np.ndarray]) -> None:
    words, papers = vectors
    assert words.shape == (texts.reader.size, 12)
    assert papers.shape == (len(texts.history.corpus), 12)
    assert words.dtype == papers.dtype == np.float32
    assert np.isfinite(words).all()
    assert np.isfinite(papers).all()


def test_only_what_stands_in_a_context_has_a_vector(
    texts: CitingTexts, vectors: tuple[np.ndarray, np.ndarray]
) -> None:
    words, papers = vectors
    cited = np.zeros(len(papers), bool)
    cited[texts.cited.indices] = True
    np.testing.assert_array_equal(papers.any(axis=1), cited)
    read = np.zeros(len(words), bool)
    read[only_words(texts.contexts).tokens] = True
    np.testing.assert_array_equal(words.any(axis=1), read)
    assert not words[:SPECIAL].any()
    assert mean_vectors(only_words(texts.contexts), words).any()


def test_gensims_own_defaults_may_be_set(texts: CitingTexts, vectors: tuple[np.ndarray, np.ndarray]) -> None:
    """CBOW, and no vector for what is rare."""
    cbow, frequent = (
        word2vec(texts, SETTINGS.model_copy(update=changed), seed=4)
        for changed in ({"architecture": "cbow"}, {"min_count": 5})
    )
    assert not np.allclose(cbow[1], vectors[1])
    counts = np.bincount(with_citations(texts).tokens, minlength=sum(map(len, vectors)))
    np.testing.assert_array_equal(np.concatenate(frequent).any(axis=1), counts >= 5)
    with pytest.raises(InputError, match=r"^w2v\.min_count: no word stands 10000 times in the texts"):
        word2vec(texts, SETTINGS.model_copy(update={"min_count": 10_000}))


def test_the_seed_alone_decides(texts: CitingTexts, vectors: tuple[np.ndarray, np.ndarray]) -> None:
    same, other = word2vec(texts, SETTINGS, seed=4), word2vec(texts, SETTINGS, seed=5)
    for one, two, three in zip(vectors, same, other, strict=True):
        np.testing.assert_array_equal(one, two)
        assert (one != three).any()
