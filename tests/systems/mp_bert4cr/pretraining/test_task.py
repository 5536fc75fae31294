"""Pretraining by hidden sentences: the loss, and short runs of the loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.changed_weights import changed_by
from helpers.small_mp_bert4cr import pretraining_recipe

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.systems.mp_bert4cr.pretraining.network import load_pretrained
from cocite.systems.mp_bert4cr.pretraining.task import (
    HierarchicalPretrainingTask,
    build,
)
from cocite.systems.mp_bert4cr.token_weights import inverse_document_frequency
from cocite.training.engine.loop import train
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.world import World


def test_the_loss_of_an_example_is_the_mean_over_its_hidden_tokens(task: HierarchicalPretrainingTask) -> None:
    task.model.eval()
    with torch.no_grad():
        found = task.loss(task.model, task.collate(np.arange(5), 0))
        for i in range(5):
            losses, _ = task.model(task.collate(np.array([i]), 0))
            torch.testing.assert_close(found[i], losses.mean(), rtol=1e-4, atol=1e-5)


def test_a_short_training_tells_tokens_better_and_leaves_an_encoder(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    chosen = pretraining_recipe(training={"epochs": 3})
    task = build(chosen, corpus, folder)
    seen: list[dict[str, float]] = []
    train(task, chosen.training, world=World(), log=lambda m, _: seen.append(m) if "accuracy" in m else None)
    assert seen[-1]["dev loss"] < seen[0]["dev loss"] - 0.3
    assert seen[-1]["accuracy"] > seen[0]["accuracy"] + 0.02
    task.export(tmp_path / "pretrained", {})
    verify(tmp_path / "pretrained", kind="mp-bert4cr-pretraining")
    encoder, tokenizer = load_pretrained(tmp_path / "pretrained")
    assert tokenizer.get_vocab() == task.texts.tokenizer.get_vocab()
    for name, weight in task.model.encoder.state_dict().items():
        assert torch.equal(encoder.state_dict()[name], weight), name


def test_layers_are_pretrained_around_word_vectors_that_stay(corpus: Corpus, folder: Path) -> None:
    chosen = pretraining_recipe(words={"trained": False}, training={"steps": 3, "log_every": 1})
    task = build(chosen, corpus, folder)
    changed = changed_by(chosen.training, task)
    assert "encoder.words.weight" not in changed
    assert {"encoder.document_layers.0.output.weight", "decoder.layers.0.output.weight"} <= changed


def test_a_resumed_training_ends_as_one_never_interrupted(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    chosen = pretraining_recipe(
        training={"steps": 6, "tokens": 1500, "checkpoint_every": 3, "log_every": 1}, model={"dropout": 0.2}
    )
    whole = build(chosen, corpus, folder)
    train(whole, chosen.training, world=World())

    class Stop(Exception):
        pass

    def stop(metrics: dict[str, float], step: int) -> None:
        if step == 4:
            raise Stop

    store = FolderStore(tmp_path, World(), metric="accuracy")
    with pytest.raises(Stop, match=r"^$"):
        train(build(chosen, corpus, folder), chosen.training, world=World(), store=store, log=stop)
    task = build(chosen, corpus, folder)
    train(task, chosen.training, world=World(), store=store)
    for name, value in whole.model.state_dict().items():
        torch.testing.assert_close(task.model.state_dict()[name], value, msg=name)


def test_flops_are_those_that_torch_counts(task: HierarchicalPretrainingTask) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    batch = task.collate(np.arange(8), 0)
    with FlopCounterMode(display=False) as counter:
        task.loss(task.model, batch).sum().backward()
    # The softmax is computed again in the backward pass, and few tokens are padded: no work of the model's.
    assert 0.75 * counter.get_total_flops() < task.flops(batch) <= counter.get_total_flops()


def test_papers_of_too_few_sentences_are_refused(corpus: Corpus, folder: Path) -> None:
    with pytest.raises(InputError, match="no paper of the dev period has 10 sentences"):
        build(pretraining_recipe(documents={"least": 10, "sentences": 10}), corpus, folder)


def test_a_model_folder_without_sentences_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no sentences to train on"):
        build(pretraining_recipe(), corpus, tmp_path)


def test_word_vectors_are_scaled_by_idf_as_in_fine_tuning(corpus: Corpus, folder: Path) -> None:
    plain, scaled = (build(pretraining_recipe(words={"idf": idf}), corpus, folder) for idf in (False, True))
    weights = torch.from_numpy(inverse_document_frequency(plain.texts))[:, None]
    torch.testing.assert_close(scaled.model.encoder.words.weight, plain.model.encoder.words.weight * weights)
