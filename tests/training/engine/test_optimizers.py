from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from cocite.errors import ConfigError
from cocite.training.engine.optimizers import (
    RATE_SHARE,
    ParameterGroup,
    clip_gradients,
    make_optimizers,
    sparse_names,
)
from cocite.training.engine.settings import OptimizerSettings


class Table(nn.Module):
    """A table with sparse gradients, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(6, 2, sparse=True)
        self.layer = nn.Linear(2, 2)


GROUPS = (
    ParameterGroup(frozenset({"words.weight"}), rate_share=0.1, sparse=True),
    ParameterGroup(frozenset({"layer.bias"}), rate_share=0.5),
)


def test_sparse_tables_have_an_optimizer_of_their_own_and_biases_no_decay() -> None:
    model = Table()
    dense, sparse = make_optimizers(model, OptimizerSettings(weight_decay=0.2), GROUPS)
    assert isinstance(dense, torch.optim.AdamW)
    assert isinstance(sparse, torch.optim.SparseAdam)
    groups = {id(p): group for o in (dense, sparse) for group in o.param_groups for p in group["params"]}
    assert groups[id(model.layer.weight)]["weight_decay"] == 0.2
    assert groups[id(model.layer.bias)]["weight_decay"] == 0.0
    shares = [groups[id(p)][RATE_SHARE] for p in (model.layer.weight, model.layer.bias, model.words.weight)]
    assert shares == [1.0, 0.5, 0.1]
    assert sparse_names(GROUPS) == {"words.weight"}


def test_without_groups_there_is_one_optimizer() -> None:
    [optimizer] = make_optimizers(nn.Linear(2, 2), OptimizerSettings())
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 1]


def test_nadam_is_that_of_dozat_with_keras_decay() -> None:
    """Dozat (2016) in float64, with the momentum schedule mu_t = beta_1 (1 - 0.5 * 0.96^(0.004 t)) that Keras has."""
    weight = nn.Parameter(torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64))
    holder = nn.ParameterDict({"weight": weight})
    settings = OptimizerSettings(name="nadam", learning_rate=0.05, weight_decay=0.0)
    [optimizer] = make_optimizers(holder, settings)
    target = torch.tensor([0.3, 0.1, -0.4], dtype=torch.float64)
    x, m, v, product = weight.detach().clone(), torch.zeros(3), torch.zeros(3), 1.0
    for step in range(1, 40):
        optimizer.zero_grad()
        (weight - target).square().sum().backward()
        optimizer.step()
        gradient = 2 * (x - target)
        now, then = (0.9 * (1 - 0.5 * 0.96 ** (0.004 * t)) for t in (step, step + 1))
        product *= now
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient.square()
        hat = then * m / (1 - product * then) + (1 - now) * gradient / (1 - product)
        x = x - 0.05 * hat / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
        torch.testing.assert_close(weight.detach(), x, rtol=1e-6, atol=1e-7)


def test_nadam_does_not_step_sparse_gradients() -> None:
    with pytest.raises(ConfigError, match="sparse gradients, which Nadam does not step"):
        make_optimizers(Table(), OptimizerSettings(name="nadam"), GROUPS)


def test_a_frozen_table_is_not_stepped() -> None:
    model = Table()
    model.words.requires_grad_(False)
    assert len(make_optimizers(model, OptimizerSettings(), GROUPS)) == 1
    model.requires_grad_(False)
    with pytest.raises(ConfigError, match="no trainable weights"):
        make_optimizers(model, OptimizerSettings(), GROUPS)


def with_gradients() -> Table:
    torch.manual_seed(0)
    model = Table()
    (model.layer(model.words(torch.tensor([1, 4, 4]))).square().sum() * 3).backward()
    return model


def norm_of(model: Table) -> float:
    grads = [p.grad.to_dense() if p.grad.is_sparse else p.grad for p in model.parameters()]  # type: ignore[union-attr]
    return math.sqrt(sum(float(g.double().square().sum()) for g in grads))


@pytest.mark.parametrize("most", [math.inf, 1.5])
def test_the_norm_counts_sparse_gradients_too(most: float) -> None:
    model = with_gradients()
    whole = norm_of(model)
    assert whole > 1.5
    assert clip_gradients(model.parameters(), most) == pytest.approx(whole, rel=1e-6)
    assert norm_of(model) == pytest.approx(min(whole, most), rel=1e-5)


def test_parameters_without_gradient_have_no_norm() -> None:
    assert clip_gradients(Table().parameters(), 1.0) == 0.0
