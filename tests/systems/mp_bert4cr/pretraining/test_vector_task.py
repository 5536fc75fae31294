"""The sentence level's pretraining: it learns, steps in pieces are those of one, and fine-tuning begins with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.small_mp_bert4cr import SHAPE, TEXTS, mp_bert4cr_recipe, prepared_task, pretraining_recipe
from helpers.small_trunk import save_small_trunk

from cocite.corpus.store import Corpus
from cocite.errors import ConfigError
from cocite.systems.mp_bert4cr import sentence_texts, sentence_vectors
from cocite.systems.mp_bert4cr.pretraining.recipe import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.pretraining.task import build
from cocite.systems.mp_bert4cr.pretraining.vector_task import VectorPretrainingTask
from cocite.training.engine.loop import train
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World

WITH_TRUNK = {**TEXTS, "trunk": {"encoder": "masked-lm"}, "body": 8, "stretch": 4}
READ = {"earlier": 3, "abstract": 4, "body": 0}


def recipe(**sections: Any) -> HierarchicalPretrainingRecipe:
    base: dict[str, Any] = {"predict": "vectors", "texts": WITH_TRUNK, "contexts": READ, "dev_contexts": 60}
    model = {**SHAPE, "sentence_layers": 0, **sections.pop("model", {})}
    return pretraining_recipe(**base, model=model, **sections)


@pytest.fixture(scope="module")
def trunk_folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hierarchy")
    titles = [title or "" for title in corpus.papers.take("title", np.arange(len(corpus)))]
    save_small_trunk(folder / "masked-lm", titles)
    chosen = recipe()
    sentence_texts.prepare(chosen.texts, corpus, folder / "sentence-texts")
    assert chosen.sentence_vectors is not None
    sentence_vectors.prepare(chosen.sentence_vectors, corpus, folder / "sentence-vectors")
    return folder


def test_hidden_sentences_are_told_better_than_at_the_start(corpus: Corpus, trunk_folder: Path) -> None:
    chosen = recipe(training={"epochs": 6, "batch": 64})
    task = build(chosen, corpus, trunk_folder)
    assert isinstance(task, VectorPretrainingTask)
    assert isinstance(task, ContrastiveTask)
    before = task.evaluate(task.model, World())
    outcome = train(task, chosen.training, world=World())
    assert outcome.last["dev loss"] < before["dev loss"] - 0.05
    assert task.flops(task.collate(np.arange(4), 0)) > 0


def test_a_step_in_pieces_is_the_step_as_a_whole(corpus: Corpus, trunk_folder: Path) -> None:
    task = build(recipe(), corpus, trunk_folder)
    assert isinstance(task, VectorPretrainingTask)
    task.model.eval()
    pieces = [np.array([3, 8, 5]), np.array([1, 200])]
    with torch.no_grad():
        vectors = torch.cat([task.embed(task.model, task.collate(piece, 0)) for piece in pieces])
        parts = task.contrast(vectors, pieces, 0)
        whole = task.loss(task.model, task.collate(np.concatenate(pieces), 0))
    assert parts.mean() == pytest.approx(float(whole.mean()), rel=1e-5)


def test_fine_tuning_begins_with_what_was_pretrained(
    corpus: Corpus, trunk_folder: Path, tmp_path: Path
) -> None:
    for name in ("masked-lm", "sentence-texts", "sentence-vectors"):
        (tmp_path / name).symlink_to(trunk_folder / name)
    chosen = recipe(training={"steps": 3})
    task = build(chosen, corpus, tmp_path)
    train(task, chosen.training, world=World())
    task.export(tmp_path / "mp-bert4cr-pretraining", {})
    tuned = mp_bert4cr_recipe(
        texts=WITH_TRUNK,
        contexts=READ,
        pretrained="mp-bert4cr-pretraining",
        model={"sentence_layers": 0},
    )
    assert tuned.sentence_vectors == chosen.sentence_vectors  # computed once for both
    model = prepared_task(tuned, corpus, tmp_path).model
    for name, weight in task.model.encoder.state_dict().items():
        assert torch.equal(model.citation.state_dict()[name], weight), name


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"texts": TEXTS}, "predict is vectors, of which there are none"),
        ({"model": {"reads": "words"}}, "predict is vectors, of which there are none"),
        ({"predict": "words", "model": {"reads": "trunk"}}, "predict is words, and model.reads is trunk"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(sections: dict[str, Any], message: str) -> None:
    data = {"predict": "vectors", "texts": WITH_TRUNK, **sections}
    with pytest.raises(ConfigError, match=message):
        HierarchicalPretrainingRecipe.parse(data)
