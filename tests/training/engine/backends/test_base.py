from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from helpers.bag_task import Bag
from torch import nn

from cocite.errors import ConfigError
from cocite.training.engine.backends import make_backend
from cocite.training.engine.backends.base import autocast, buffers_of, left_out, prepare, touching
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World


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


@pytest.fixture
def fp32_products() -> Iterator[None]:
    """A setting that no training chooses; afterwards that of before, for it holds for the whole process."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.usefixtures("fp32_products")
@pytest.mark.parametrize(
    ("device", "tf32", "precision"),
    [("cuda", True, "high"), ("cuda", False, "highest"), ("cpu", True, "medium"), ("cpu", False, "medium")],
)
def test_tf32_is_a_switch_of_trainings_on_a_gpu(device: str, tf32: bool, precision: str) -> None:
    """A model without weights needs no GPU to be put on one; that it cannot be trained is found after the switch."""
    with pytest.raises(ConfigError, match="no trainable weights"):
        make_backend(nn.Identity(), TrainingSettings(tf32=tf32), World(device=torch.device(device)))
    assert torch.get_float32_matmul_precision() == precision
