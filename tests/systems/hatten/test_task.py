"""The task that a recipe makes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.small_hatten import TRIPLETS, build_hatten, hatten_recipe
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.hatten.in_batch_task import InBatchTask
from cocite.systems.hatten.triplet_task import TripletTask


def test_the_objective_decides_the_task(corpus: Corpus, tmp_path: Path) -> None:
    assert type(build_hatten(hatten_recipe(), corpus, tmp_path)) is InBatchTask
    assert type(build_hatten(hatten_recipe(objective=TRIPLETS), corpus, tmp_path)) is TripletTask


def test_initial_word_vectors_are_those_of_the_recipe(corpus: Corpus, tmp_path: Path) -> None:
    random = build_hatten(hatten_recipe(), corpus, tmp_path)
    word = random.reader.vocabulary.types[5]
    (tmp_path / "vectors.txt").write_text(f"{word} " + " ".join(["2.0", *["0.0"] * 15]) + "\n")
    given = hatten_recipe(words={"source": "file", "path": str(tmp_path / "vectors.txt"), "trained": False})
    task = build_hatten(given, corpus, tmp_path)
    assert random.model.words.weight.requires_grad
    assert not task.model.words.weight.requires_grad
    changed = (task.model.words.weight != random.model.words.weight).any(1).numpy()
    assert changed.sum() == 1
    row = task.model.words.weight[int(np.flatnonzero(changed)[0])].detach().numpy()
    assert row[0] > 0
    assert not row[1:].any()


def test_word_vectors_cannot_be_trained_on_a_corpus_without_bodies(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no paper of the training period has body sentences"):
        build_hatten(hatten_recipe(words={"source": "corpus"}), corpus, tmp_path)
    assert not (tmp_path / "word-vectors").exists()


def test_a_model_folder_keeps_vectors_trained_on_the_corpus(
    synthetic: SyntheticCorpora, tmp_path: Path
) -> None:
    pytest.importorskip("gensim")
    corpus = synthetic(300, seed=4, context_rate=2.0, sentences=True)
    build_hatten(hatten_recipe(words={"source": "corpus", "epochs": 1}), corpus, tmp_path)
    verify(tmp_path / "word-vectors", kind="word-vectors")
