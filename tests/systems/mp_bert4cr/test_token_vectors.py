"""The artifact of initial word vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.small_mp_bert4cr import mp_bert4cr_recipe, pretraining_recipe

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder
from cocite.systems.mp_bert4cr.token_vectors import (
    KIND,
    InitialTokenVectorSettings,
    TokenVectorSettings,
    prepare,
    token_vectors,
)

WORDS = {"source": "corpus", "epochs": 1}


def test_vectors_are_units_of_the_words_that_occur_and_are_kept(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("gensim")
    settings = mp_bert4cr_recipe(words=WORDS).token_vectors
    assert settings is not None
    with pytest.raises(NotFoundError, match="holds no sentences to train on"):
        prepare(settings, corpus, tmp_path / KIND)
    (tmp_path / "sentence-texts").symlink_to(folder / "sentence-texts")
    assert prepare(settings, corpus, tmp_path / KIND)
    verify(tmp_path / KIND, kind=KIND)
    tokenizer = load_from_model_folder(folder, corpus).tokenizer
    vectors = token_vectors(tmp_path, corpus, settings, len(tokenizer))
    assert isinstance(vectors, np.memmap)
    assert vectors.shape == (len(tokenizer), 24)
    norms = np.linalg.norm(vectors, axis=1)
    assert norms[norms > 0] == pytest.approx(1, abs=1e-5)
    assert norms[tokenizer.sep_token_id] == 0  # sentences are read without their end token
    assert (norms > 0).mean() > 0.5
    # word2vec differs from run to run: equal vectors are the kept ones.
    kept = np.array(vectors)
    assert not prepare(settings, corpus, tmp_path / KIND)
    assert np.array_equal(token_vectors(tmp_path, corpus, settings, len(tokenizer)), kept)
    with pytest.raises(IntegrityError, match="the arrays do not fit the vocabulary"):
        token_vectors(tmp_path, corpus, settings, len(tokenizer) + 1)
    other = settings.model_copy(update={"dimension": 8})
    with pytest.raises(InputError, match="the word vectors were made with other settings"):
        token_vectors(tmp_path, corpus, other, len(tokenizer))
    assert prepare(other, corpus, tmp_path / KIND)
    assert token_vectors(tmp_path, corpus, other, len(tokenizer)).shape == (len(tokenizer), 8)


def test_pretraining_and_fine_tuning_begin_with_the_same_vectors() -> None:
    pretrained = pretraining_recipe(words=WORDS | {"trained": False}).token_vectors
    assert pretrained == mp_bert4cr_recipe(words=WORDS | {"idf": True}).token_vectors
    assert isinstance(pretrained, InitialTokenVectorSettings)
    assert mp_bert4cr_recipe(words=WORDS, pretrained="mp-bert4cr-pretraining").token_vectors is None


def test_random_vectors_are_the_default() -> None:
    assert mp_bert4cr_recipe().words == TokenVectorSettings(source="random", idf=False, trained=True)
    assert mp_bert4cr_recipe().token_vectors is pretraining_recipe().token_vectors is None
