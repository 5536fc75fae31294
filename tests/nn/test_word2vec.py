"""Word vectors trained on sentences, and kept in a model folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cocite.artifacts import verify
from cocite.errors import InputError
from cocite.nn.word2vec import Word2VecSettings, cached_vectors, train_word2vec

SETTINGS = Word2VecSettings(epochs=2, window=3)


def vectors(value: float) -> NDArray[np.float32]:
    return np.full((4, 3), value, np.float32)


def test_vectors_are_made_once_for_the_same_inputs(tmp_path: Path) -> None:
    made: list[float] = []

    def make(value: float) -> NDArray[np.float32]:
        made.append(value)
        return vectors(value)

    inputs = {"corpus": "a", "seed": 1}
    for value in (1.0, 2.0):
        assert np.array_equal(cached_vectors(tmp_path, "kind", inputs, lambda v=value: make(v)), vectors(1.0))
    assert made == [1.0]
    verify(tmp_path / "kind", kind="kind")
    # Their order does not matter, their values do; the folder keeps the last vectors alone.
    reordered = {"seed": 1, "corpus": "a"}
    assert np.array_equal(cached_vectors(tmp_path, "kind", reordered, lambda: make(3.0)), vectors(1.0))
    other = {"corpus": "a", "seed": 2}
    assert np.array_equal(cached_vectors(tmp_path, "kind", other, lambda: make(4.0)), vectors(4.0))
    assert np.array_equal(cached_vectors(tmp_path, "kind", inputs, lambda: make(5.0)), vectors(5.0))
    assert made == [1.0, 4.0, 5.0]


def test_damaged_vectors_are_made_again(tmp_path: Path) -> None:
    cached_vectors(tmp_path, "kind", {}, lambda: vectors(1.0))
    (tmp_path / "kind" / "vectors.safetensors").write_bytes(b"nothing")
    assert np.array_equal(cached_vectors(tmp_path, "kind", {}, lambda: vectors(2.0)), vectors(2.0))
    assert np.array_equal(cached_vectors(tmp_path, "kind", {}, lambda: vectors(3.0)), vectors(2.0))


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
