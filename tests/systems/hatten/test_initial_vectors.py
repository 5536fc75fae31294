"""The artifact of initial word vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.small_hatten import build_hatten, hatten_recipe
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.systems.hatten import initial_vectors as module
from cocite.systems.hatten.initial_vectors import KIND, InitialVectorSettings, initial_vectors, prepare
from cocite.systems.hatten.texts import HattenTextSettings, load
from cocite.systems.hatten.texts import prepare as prepare_texts
from cocite.text.paragraphs import SPECIAL


def test_random_vectors_need_no_artifact(corpus: Corpus, tmp_path: Path) -> None:
    recipe = hatten_recipe(words={"source": "random"})
    assert recipe.word_vectors is None
    reader = build_hatten(recipe, corpus, tmp_path).reader
    vectors = initial_vectors(tmp_path, corpus, None, reader, 4, seed=3)
    assert vectors.shape == (reader.size, 4)
    assert not (tmp_path / KIND).exists()


def test_vectors_of_a_file_are_made_again_when_the_file_changes(corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 -1\nof 3 -3\n")
    recipe = hatten_recipe(words={"source": "file", "path": str(path)}, model={"dimension": 2})
    prepare_texts(recipe.texts, corpus, tmp_path / "hatten-texts")
    assert recipe.word_vectors is not None
    assert prepare(recipe.word_vectors, corpus, tmp_path / KIND)
    assert not prepare(recipe.word_vectors, corpus, tmp_path / KIND)
    reader = load(tmp_path, corpus, recipe.texts).reader
    found = initial_vectors(tmp_path, corpus, recipe.word_vectors, reader, 2, seed=0)
    the, of = (SPECIAL + reader.vocabulary.types.index(word) for word in ("the", "of"))
    assert found[of].tolist() == pytest.approx((3 * found[the]).tolist())
    path.write_text("the 1 -1\nof 30 -30\n")
    assert prepare(recipe.word_vectors, corpus, tmp_path / KIND)
    path.unlink()  # a worker need not see it
    found = initial_vectors(tmp_path, corpus, recipe.word_vectors, reader, 2, seed=0)
    assert found[of].tolist() == pytest.approx((30 * found[the]).tolist())


def test_vectors_are_trained_once_and_refused_with_other_settings(
    synthetic: SyntheticCorpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gensim")
    corpus = synthetic(200, seed=2, sentences=True)
    texts = HattenTextSettings(bodies=True)
    settings = InitialVectorSettings(texts=texts, dimension=8)
    with pytest.raises(NotFoundError, match="holds no texts to train on"):
        prepare(settings, corpus, tmp_path / KIND)
    prepare_texts(texts, corpus, tmp_path / "hatten-texts")
    stages: list[str] = []
    assert prepare(settings, corpus, tmp_path / KIND, stage=lambda name, _: stages.append(name))
    assert stages == ["word vectors"]
    monkeypatch.setattr(module, "known_vectors", lambda *_, **__: pytest.fail("trained again"))
    assert not prepare(settings, corpus, tmp_path / KIND)
    assert verify(tmp_path / KIND, kind=KIND).meta["corpus"] == corpus.version
    reader = load(tmp_path, corpus, texts).reader
    first = initial_vectors(tmp_path, corpus, settings, reader, 8, seed=0)
    assert np.array_equal(initial_vectors(tmp_path, corpus, settings, reader, 8, seed=0), first)
    other = settings.model_copy(update={"seed": 1})
    with pytest.raises(InputError, match="the word vectors were made with other settings"):
        initial_vectors(tmp_path, corpus, other, reader, 8, seed=1)
