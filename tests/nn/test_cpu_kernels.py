"""Dense layers on a CPU, and the measurement that chooses among them."""

from __future__ import annotations

import pytest
import torch

from cocite.nn import cpu_kernels
from cocite.nn.cpu_kernels import Dense, Speed
from cocite.nn.int8_dense import has_int8


def test_the_probe_measures_something() -> None:
    speed = cpu_kernels.measure(32, 64)
    assert speed.plain > 0
    assert (speed.packed > 0) == cpu_kernels.has_onednn()
    assert (speed.int8 > 0) == has_int8()


@pytest.mark.parametrize("packed", [True, False])
def test_a_dense_layer_is_the_modules(packed: bool) -> None:
    torch.manual_seed(0)
    linear = torch.nn.Linear(24, 40)
    inputs, residual = torch.randn(7, 24), torch.randn(7, 40)
    with torch.inference_mode():
        dense = Dense(linear.weight, linear.bias, torch.float32, packed=packed)
        torch.testing.assert_close(dense(inputs), linear(inputs))
        torch.testing.assert_close(dense.added(inputs, residual), linear(inputs) + residual)
        gelu = torch.nn.functional.gelu
        torch.testing.assert_close(dense.activated(inputs, "gelu", gelu), gelu(linear(inputs)))


def test_bf16_is_chosen_only_where_it_is_clearly_faster() -> None:
    assert Speed(plain=10, packed=50, bf16=100).best == "bf16"
    assert Speed(plain=10, packed=50, bf16=55).best == "fp32"
    assert Speed(plain=90, packed=50, bf16=100).best == "fp32"
    assert Speed(plain=10, packed=0, bf16=0).best == "fp32"


def test_integers_must_be_half_as_fast_again_as_all_else() -> None:
    assert Speed(plain=100, packed=110, bf16=70, int8=170).int8_pays
    assert not Speed(plain=100, packed=120, bf16=70, int8=170).int8_pays
    assert not Speed(plain=100, packed=110, bf16=210, int8=300).int8_pays
    assert not Speed(plain=100, packed=110, bf16=70).int8_pays
    assert Speed(plain=100, packed=110, bf16=70, int8=400).best == "fp32"  # the cross-encoder's choice


def test_an_activation_that_onednn_does_not_have_is_applied_by_the_function() -> None:
    torch.manual_seed(0)
    linear, inputs = torch.nn.Linear(24, 40), torch.randn(7, 24)
    with torch.inference_mode():
        dense = Dense(linear.weight, linear.bias, torch.float32, packed=True)
        torch.testing.assert_close(
            dense.activated(inputs, "silu", torch.nn.functional.silu),
            torch.nn.functional.silu(linear(inputs)),
        )


def test_bf16_layers_add_to_residuals_in_fp32() -> None:
    torch.manual_seed(0)
    linear, inputs, residual = torch.nn.Linear(24, 40), torch.randn(7, 24), torch.randn(7, 40)
    with torch.inference_mode():
        dense = Dense(linear.weight, linear.bias, torch.bfloat16, packed=True)
        added = dense.added(inputs.bfloat16(), residual)
        assert added.dtype == torch.float32
        torch.testing.assert_close(added, linear(inputs) + residual, atol=0.02, rtol=0.02)
