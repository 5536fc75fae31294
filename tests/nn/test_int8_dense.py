"""Dense layers of 8-bit integers beside those of fp32."""

from __future__ import annotations

import pytest
import torch

from cocite.errors import ConfigError
from cocite.nn.int8_dense import Int8Dense


def layer(inputs: int, outputs: int) -> tuple[torch.nn.Linear, Int8Dense]:
    torch.manual_seed(0)
    linear = torch.nn.Linear(inputs, outputs)
    return linear, Int8Dense(linear.weight, linear.bias)


@pytest.mark.parametrize("shape", [(1, 384, 1536), (7, 1536, 384), (33, 40, 5), (2, 2, 3)])
@torch.inference_mode()
def test_outputs_are_within_a_fiftieth_of_fp32s(shape: tuple[int, int, int]) -> None:
    n, width, outputs = shape
    linear, dense = layer(width, outputs)
    # Rows of very different size and offset: each has a grid of its own.
    inputs = torch.randn(n, width) * torch.logspace(-3, 3, n)[:, None] + torch.linspace(-1, 2, n)[:, None]
    residual = torch.randn(n, outputs)
    exact = linear(inputs)
    error = (dense(inputs) - exact).norm(dim=1) / exact.norm(dim=1)
    assert float(error.max()) < 0.02
    torch.testing.assert_close(dense.added(inputs, residual), dense(inputs) + residual)
    relu = torch.nn.functional.relu
    torch.testing.assert_close(dense.activated(inputs, "relu", relu), relu(dense(inputs)))


@torch.inference_mode()
def test_integers_on_the_grid_are_exact() -> None:
    weight = torch.randint(-127, 128, (9, 64)).float()
    weight[:, 0] = 127
    inputs = torch.randint(-127, 128, (5, 64)).float()
    inputs[:, 0], inputs[:, 1] = -127, 127
    assert torch.equal(Int8Dense(weight)(inputs), inputs @ weight.T)


@torch.inference_mode()
def test_a_row_does_not_depend_on_those_beside_it() -> None:
    _, dense = layer(64, 48)
    inputs = torch.randn(20, 64) * torch.arange(1, 21)[:, None]
    assert torch.equal(dense(inputs)[4:5], dense(inputs[4:5]))
    assert torch.equal(dense(inputs.t().contiguous().t()), dense(inputs))


@torch.inference_mode()
def test_rows_of_one_number_and_no_rows() -> None:
    linear, dense = layer(16, 8)
    for value in (0.0, -0.0, 0.3, -5.0, 1e-40):
        inputs = torch.full((2, 16), value)
        torch.testing.assert_close(dense(inputs), linear(inputs), rtol=0.02, atol=0.02)
    assert dense(torch.empty(0, 16)).shape == (0, 8)
    assert torch.equal(Int8Dense(torch.zeros(8, 16))(torch.randn(3, 16)), torch.zeros(3, 8))


def test_one_input_is_refused_for_torchs_product_of_it_is_wrong() -> None:
    with pytest.raises(ConfigError, match="at least 2 inputs, not 1"):
        layer(1, 3)


@pytest.mark.parametrize("bad", [float("nan"), -float("nan"), float("inf"), -float("inf")])
@torch.inference_mode()
def test_a_number_that_is_not_finite_shows_in_its_row_alone(bad: float) -> None:
    _, dense = layer(64, 48)
    inputs = torch.randn(4, 64)
    inputs[2, 5] = bad
    assert dense(inputs).isfinite().all(1).tolist() == [True, True, False, True]
