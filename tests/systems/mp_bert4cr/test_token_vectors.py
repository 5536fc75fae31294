"""Initial word vectors and weights of words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.small_mp_bert4cr import mp_bert4cr_recipe

from cocite.artifacts import verify
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder
from cocite.systems.mp_bert4cr.token_vectors import (
    TokenVectorSettings,
    inverse_document_frequency,
    token_vectors,
)
from cocite.text.sentence_texts import SentenceTexts


@pytest.fixture(scope="module")
def texts(corpus: Corpus, folder: Path) -> SentenceTexts:
    return load_from_model_folder(folder, corpus)


def test_weights_of_words_are_their_inverse_document_frequencies(texts: SentenceTexts) -> None:
    papers = [
        {int(token) for i in range(*texts.abstract_indptr[row : row + 2]) for token in texts.abstracts[i]}
        for row in range(len(texts))
    ]
    tokens = np.concatenate([texts.abstracts[i] for i in range(len(texts.abstracts))])
    words = len(texts.tokenizer)
    wanted = np.array(
        [np.log((len(texts) + 1) / (sum(word in paper for paper in papers) + 1)) for word in range(words)]
    )
    found = inverse_document_frequency(texts)
    assert found == pytest.approx(wanted / wanted[tokens].mean(), rel=1e-5, abs=1e-6)
    assert found[tokens].mean() == pytest.approx(1, rel=1e-5)


def test_vectors_are_units_of_the_words_that_occur_and_are_kept(
    corpus: Corpus, texts: SentenceTexts, tmp_path: Path
) -> None:
    pytest.importorskip("gensim")
    settings = TokenVectorSettings(source="corpus", epochs=1)
    history = History.until(corpus, 2015)
    vectors = token_vectors(settings, history, texts, 16, tmp_path)
    verify(tmp_path / "token-vectors", kind="token-vectors")
    assert vectors.shape == (len(texts.tokenizer), 16)
    norms = np.linalg.norm(vectors, axis=1)
    assert norms[norms > 0] == pytest.approx(1, abs=1e-5)
    assert norms[texts.tokenizer.sep_token_id] == 0  # sentences are read without their end token
    assert (norms > 0).mean() > 0.5
    # word2vec differs from run to run: equal vectors are the kept ones.
    assert np.array_equal(token_vectors(settings, history, texts, 16, tmp_path), vectors)
    other = token_vectors(settings, History.until(corpus, 2005), texts, 16, tmp_path)
    assert not np.array_equal(other, vectors)


def test_random_vectors_are_the_default() -> None:
    assert mp_bert4cr_recipe().words == TokenVectorSettings(source="random", idf=False, trained=True)
