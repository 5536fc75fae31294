"""The pretrained encoder, saved and loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from cocite.artifacts import seal
from cocite.errors import CociteError, IntegrityError
from cocite.systems.mp_bert4cr.pretraining.network import load_pretrained, save_pretrained
from cocite.systems.mp_bert4cr.pretraining.task import HierarchicalPretrainingTask


def test_what_is_loaded_is_what_was_saved_without_the_decoder(
    task: HierarchicalPretrainingTask, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    save_pretrained(tmp_path / "pretrained", task.model.encoder, task.texts.tokenizer, {"note": "untrained"})
    names = set(load_file(tmp_path / "pretrained" / "model.safetensors"))
    assert names == {name for name, _ in task.model.encoder.named_parameters()}
    encoder, tokenizer = load_pretrained(tmp_path / "pretrained")
    assert tokenizer.get_vocab() == task.texts.tokenizer.get_vocab()
    assert encoder.settings == task.recipe.model
    batch = task.collate(np.arange(3), 0).documents
    with torch.no_grad():
        assert torch.equal(encoder.eval()(batch).documents, task.model.encoder.eval()(batch).documents)


def test_another_artifact_and_damaged_weights_are_refused(
    task: HierarchicalPretrainingTask, tmp_path: Path
) -> None:
    folder = tmp_path / "pretrained"
    save_pretrained(folder, task.model.encoder, task.texts.tokenizer, {})
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(IntegrityError, match=r"model\.safetensors: damaged"):
        load_pretrained(folder)
    seal(folder, kind="mp-bert4cr-pretraining", meta={})
    with pytest.raises(IntegrityError, match="does not fit config and vocabulary"):
        load_pretrained(folder)
    seal(folder, kind="mp-bert4cr", meta={})
    with pytest.raises(CociteError, match="mp-bert4cr"):
        load_pretrained(folder)


def test_checkpointing_changes_no_gradient(task: HierarchicalPretrainingTask) -> None:
    batch = task.collate(np.arange(3), 0)
    gradients = []
    for checkpointed in (False, True):
        task.model.train().zero_grad()
        task.model.encoder.checkpointed = checkpointed
        task.loss(task.model, batch).sum().backward()
        weights = (
            task.model.named_parameters()
        )  # the norm of documents has no gradient: sentences alone are used
        gradients.append({name: weight.grad.clone() for name, weight in weights if weight.grad is not None})
    task.model.encoder.checkpointed = False
    task.model.zero_grad()
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, msg=name)
