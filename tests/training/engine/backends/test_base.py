from __future__ import annotations

import pytest
import torch
from helpers.bag_task import Bag
from torch import nn

from cocite.errors import ConfigError
from cocite.training.engine.backends.base import autocast, buffers_of, left_out, prepare, touching
from cocite.training.engine.settings import TrainingSettings


def test_parameters_that_a_loss_leaves_out_get_a_gradient_of_zero() -> None:
    model = nn.ModuleDict({"used": nn.Linear(2, 1), "spare": nn.Linear(2, 1)})
    loss = model["used"](torch.ones(3, 2)).sum()
    assert [p.shape for p in left_out(loss, model.parameters())] == [(1, 2), (1,)]
    whole = touching(loss, model.parameters())
    assert whole.item() == loss.item()
    whole.backward()
    assert model["spare"].weight.grad is not None
    assert model["spare"].weight.grad.abs().max() == 0
    assert model["used"].weight.grad.abs().max() > 0


def test_a_loss_that_uses_all_weights_is_left_as_it_is() -> None:
    model = nn.Linear(2, 1)
    loss = model(torch.ones(3, 2)).sum()
    assert touching(loss, model.parameters()) is loss


def test_buffers_are_those_that_would_be_saved() -> None:
    model = Bag(0.0, rare=False)
    model.register_buffer("scratch", torch.ones(3), persistent=False)
    assert [name for name, _ in buffers_of(model)] == ["scale"]


def test_gradient_checkpointing_needs_a_model_that_has_it() -> None:
    with pytest.raises(ConfigError, match="Linear has no gradient checkpointing"):
        prepare(nn.Linear(2, 2), TrainingSettings(gradient_checkpointing=True))


@pytest.mark.parametrize(("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_bf16_is_autocast(precision: str, dtype: torch.dtype) -> None:
    settings = TrainingSettings.parse({"precision": precision})
    with autocast(settings, torch.device("cpu")):
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype == dtype
