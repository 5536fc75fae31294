"""Masked language modelling: the loss, and what a short training leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_masked_lm import masked_lm_recipe
from transformers import AutoModel, AutoTokenizer

from cocite.corpus.store import Corpus
from cocite.errors import NotFoundError
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.masked_lm.task import (
    DEV_EPOCH,
    MaskedLanguageModelTask,
    build,
)
from cocite.text.pair_tokenizer import PairSettings
from cocite.training.engine.loop import train
from cocite.training.engine.world import World


def test_the_loss_of_an_example_is_that_of_its_hidden_tokens(task: MaskedLanguageModelTask) -> None:
    task.model.eval()
    with torch.no_grad():
        found = task.loss(task.model, task.collate(np.arange(5), 0))
        for i in range(5):
            batch = task.collate(np.array([i]), 0)
            logs = task.model(batch).log_softmax(1)
            wanted = -logs[torch.arange(len(logs)), batch.answers].mean()
            torch.testing.assert_close(found[i], wanted, rtol=1e-4, atol=1e-5)


def test_a_short_training_predicts_tokens_better_and_writes_a_backbone_for_a_cross_encoder(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    chosen = masked_lm_recipe(training={"steps": 30})
    task = build(chosen, corpus, folder)
    seen: list[dict[str, float]] = []
    train(task, chosen.training, world=World(), log=lambda m, _: seen.append(m) if "accuracy" in m else None)
    assert seen[-1]["dev loss"] < seen[0]["dev loss"] - 0.3
    assert seen[-1]["accuracy"] > seen[0]["accuracy"]
    task.export(tmp_path / "masked-lm", {"dev": seen[-1]})
    backbone, tokenizer = (
        kind.from_pretrained(tmp_path / "masked-lm") for kind in (AutoModel, AutoTokenizer)
    )
    assert torch.equal(
        backbone.embeddings.word_embeddings.weight, task.model.bert.bert.embeddings.word_embeddings.weight
    )
    assert tokenizer.tokenize("parsing") == task.texts.tokenizer.tokenize("parsing")
    pairs = PairSettings(query_tokens=30, candidate_tokens=24, context_tokens=16)
    model = CrossEncoder.from_pretrained(tmp_path / "masked-lm", pairs)
    assert model.backbone.config.num_hidden_layers == 2


def test_a_model_folder_without_texts_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no texts to pretrain on"):
        build(masked_lm_recipe(), corpus, tmp_path)


def test_dev_metrics_are_those_of_all_hidden_dev_tokens(task: MaskedLanguageModelTask) -> None:
    task.model.eval()
    with torch.no_grad():
        found = task.evaluate(task.model, World())
        dev = task.texts.dev
        batch = task.hider.hide(dev, np.arange(len(dev)), DEV_EPOCH)
        logits = task.model(batch)
    assert found["accuracy"] == pytest.approx(float((logits.argmax(1) == batch.answers).double().mean()))
    expected = torch.nn.functional.cross_entropy(logits.double(), batch.answers)
    assert found["dev loss"] == pytest.approx(float(expected), rel=1e-4)


def test_flops_are_those_that_torch_counts(task: MaskedLanguageModelTask) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    lengths = task.lengths(0)
    batch = task.collate(np.flatnonzero(lengths == lengths.max())[:8], 0)  # no padding
    task.model.bert.set_attn_implementation("eager")  # whose products are counted on a CPU
    with FlopCounterMode(display=False) as counter:
        task.loss(task.model, batch).sum().backward()
    assert task.flops(batch) == pytest.approx(counter.get_total_flops(), rel=0.1)
