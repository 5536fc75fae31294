"""The artifact of the weights of words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.small_mp_bert4cr import mp_bert4cr_recipe

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.systems.mp_bert4cr import token_weights as module
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder
from cocite.systems.mp_bert4cr.token_weights import (
    KIND,
    inverse_document_frequency,
    prepare,
    token_weights,
)


@pytest.mark.parametrize("block", [7, 1000])
def test_weights_of_words_are_their_inverse_document_frequencies(
    corpus: Corpus, folder: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    texts = load_from_model_folder(folder, corpus)
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


def test_they_are_kept(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    settings = mp_bert4cr_recipe(words={"idf": True}).token_weights
    assert settings is not None
    assert not prepare(settings, corpus, folder / KIND)
    verify(folder / KIND, kind=KIND)
    texts = load_from_model_folder(folder, corpus)
    vocabulary = len(texts.tokenizer)
    found = token_weights(folder, corpus, settings, vocabulary)
    assert np.array_equal(found, inverse_document_frequency(texts))
    with pytest.raises(IntegrityError, match="the arrays do not fit the vocabulary"):
        token_weights(folder, corpus, settings, vocabulary - 1)
    other = mp_bert4cr_recipe(words={"idf": True}, texts={"title": False}).token_weights
    assert other is not None
    with pytest.raises(InputError, match="the weights of words were made with other settings"):
        token_weights(folder, corpus, other, vocabulary)
    with pytest.raises(NotFoundError, match="holds no sentences to train on"):
        prepare(settings, corpus, tmp_path / KIND)
    with pytest.raises(NotFoundError, match="holds no weights of words to train on"):
        token_weights(tmp_path, corpus, settings, vocabulary)
    assert mp_bert4cr_recipe().token_weights is None
