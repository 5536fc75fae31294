"""A small BERT that predicts hidden tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from cocite.artifacts import verify
from cocite.systems.masked_lm.network import BertSettings, MaskedBatch, MaskedLanguageModel
from cocite.systems.masked_lm.task import MaskedLanguageModelTask


def model_of() -> MaskedLanguageModel:
    torch.manual_seed(0)
    settings = BertSettings(hidden=16, layers=2, heads=2, inner=32, positions=16, dropout=0.0)
    return MaskedLanguageModel(settings, vocabulary=30, pad=0)


def batch_of(lengths: list[int]) -> MaskedBatch:
    """Random texts, of which the second token and the last one are hidden."""
    rng = np.random.default_rng(0)
    width = torch.arange(max(lengths))
    mask = width < torch.tensor(lengths)[:, None]
    ids = torch.from_numpy(rng.integers(5, 30, mask.shape)) * mask
    hidden = mask & ((width == 1) | (width == torch.tensor(lengths)[:, None] - 1))
    return MaskedBatch(ids, mask, hidden, torch.zeros(int(hidden.sum()), dtype=torch.int64))


@torch.no_grad()
def test_logits_are_those_of_the_whole_model_at_the_hidden_tokens() -> None:
    model, batch = model_of().eval(), batch_of([7, 3, 5])
    whole = model.bert(input_ids=batch.ids, attention_mask=batch.mask.long()).logits
    torch.testing.assert_close(model(batch), whole[batch.hidden])


@torch.no_grad()
def test_a_text_has_the_same_logits_alone_as_padded_in_a_batch() -> None:
    model, batch = model_of().eval(), batch_of([7, 3, 5])
    alone = MaskedBatch(batch.ids[1:2, :3], batch.mask[1:2, :3], batch.hidden[1:2, :3], batch.answers[2:4])
    torch.testing.assert_close(model(alone), model(batch)[2:4])


def test_checkpointing_changes_no_gradient() -> None:
    plain, checkpointed = model_of().train(), model_of().train()
    checkpointed.gradient_checkpointing_enable()
    for model in (plain, checkpointed):
        model(batch_of([7, 3]))[:, 0].sum().backward()
    for (name, one), other in zip(plain.named_parameters(), checkpointed.parameters(), strict=True):
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, msg=name)


def test_the_encoder_is_saved_without_the_head(task: MaskedLanguageModelTask, tmp_path: Path) -> None:
    task.model.save(tmp_path / "masked-lm", task.texts.tokenizer, {"note": "untrained"})
    assert verify(tmp_path / "masked-lm", kind="masked-lm").meta["note"] == "untrained"
    weights = load_file(tmp_path / "masked-lm" / "model.safetensors")
    assert weights.keys() == task.model.bert.bert.state_dict().keys()
    assert not any(name.startswith("cls.") for name in weights)
