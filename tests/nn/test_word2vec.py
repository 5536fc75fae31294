"""Word vectors trained on sentences."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.errors import InputError
from cocite.nn.word2vec import Word2VecSettings, train_word2vec

SETTINGS = Word2VecSettings(epochs=2, window=3)


def test_words_that_occur_together_are_near() -> None:
    pytest.importorskip("gensim")
    rng = np.random.default_rng(0)  # sentences of words below 100, and of words from 100 to 199
    lines = [
        " ".join(map(str, rng.integers(first, first + 100, 20))) for _ in range(500) for first in (0, 100)
    ]
    found = train_word2vec(Word2VecSettings(epochs=40), [lines[:300], lines[300:]], 202, 16)
    assert found.shape == (202, 16)
    assert not found[200:].any()  # words of no sentence
    units = found[:200] / np.linalg.norm(found[:200], axis=1, keepdims=True)
    similar = units @ units.T
    assert similar[:100, :100].mean() > similar[:100, 100:].mean() + 0.3


def test_a_corpus_without_sentences_is_refused() -> None:
    pytest.importorskip("gensim")
    with pytest.raises(InputError, match="no paper of the training period has body sentences"):
        train_word2vec(SETTINGS, iter([[]]), 4, 8)


def test_without_gensim_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gensim.models", None)
    with pytest.raises(InputError, match="needs gensim"):
        train_word2vec(SETTINGS, [["0 1"]], 2, 8)
