"""Which tokens are hidden."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_masked_lm import masked_lm_recipe

from cocite.corpus.store import Corpus
from cocite.systems.masked_lm.task import (
    MaskedLanguageModelTask,
    build,
)


def test_what_is_hidden_is_a_share_of_the_tokens(task: MaskedLanguageModelTask) -> None:
    examples = np.arange(len(task.texts.train))
    batch = task.collate(examples, 0)
    tokenizer, pieces = task.texts.tokenizer, task.texts.train
    hidden, ids = batch.hidden.numpy(), batch.ids.numpy()
    assert hidden.any(axis=1).all()
    assert hidden.sum() / pieces.counts.sum() == pytest.approx(0.15, abs=0.01)
    true = ids.copy()
    true[hidden] = batch.answers.numpy()
    for i in (0, 5):
        assert true[i][batch.mask[i]].tolist() == [
            tokenizer.cls_token_id,
            *pieces[i].tolist(),
            tokenizer.sep_token_id,
        ]
    assert (ids == true)[~hidden].all()
    masked = (ids[hidden] == tokenizer.mask_token_id).mean()
    kept = (ids[hidden] == true[hidden]).mean()
    assert masked == pytest.approx(0.8, abs=0.03)
    assert kept == pytest.approx(0.1, abs=0.03)


def test_what_is_hidden_hangs_on_seed_epoch_and_example_alone(
    task: MaskedLanguageModelTask, corpus: Corpus, folder: Path
) -> None:
    together = task.collate(np.array([4, 9, 2]), 3)
    alone = task.collate(np.array([9]), 3)
    width = alone.ids.shape[1]
    assert torch.equal(together.ids[1, :width], alone.ids[0])
    assert torch.equal(together.hidden[1, :width], alone.hidden[0])
    assert not torch.equal(task.collate(np.array([9]), 4).hidden, alone.hidden)
    other = build(masked_lm_recipe(training={"seed": 1}), corpus, folder)
    assert not torch.equal(other.collate(np.array([9]), 3).hidden, alone.hidden)
