"""Dense layers whose products are of 8-bit integers, which AVX512-VNNI multiplies four times as fast as fp32.

Each output of a layer has a scale of its own (symmetric), each row of inputs a scale and an offset, taken from its own
least and largest component when it comes (dynamic quantisation; Dettmers et al. 2022, LLM.int8(), Section 2.1). So a
row's result does not depend on the rows beside it. torch's own dynamic quantisation has one scale for all rows of
a batch, which is coarser.
"""

# Without annotations: Numba infers the kernels' types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from cocite.compiled import compiled
from cocite.errors import ConfigError

STEPS = 127
"""Largest integer of weights and inputs; the least is its negative."""
LEAST_SCALE = np.finfo(np.float32).tiny
"""Less than this is no divisor: its reciprocal is infinite."""


def has_int8() -> bool:
    """Whether the processor multiplies 8-bit integers by AVX512-VNNI; without it torch's product of them is slow."""
    supported = getattr(torch.cpu, "_is_vnni_supported", lambda: False)
    return bool(supported()) and hasattr(torch, "_int_mm")


class Int8Dense:
    """A frozen dense layer that multiplies 8-bit integers; its inputs and outputs are fp32.

    Args:
        weight: (out, in), of at least two inputs: torch's product of integers is wrong for one.
        bias: (out,) or None.

    Raises:
        ConfigError: there is only one input.

    Example:
        >>> dense = Int8Dense(torch.tensor([[1.0, 0.0], [0.5, 0.25]]), torch.tensor([0.0, 1.0]))
        >>> dense(torch.tensor([[3.0, 4.0]])).round(decimals=1)
        tensor([[3.0000, 3.5000]])
    """

    dtype = torch.float32

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        if weight.shape[1] < 2:
            raise ConfigError(f"int8 layers need at least 2 inputs, not {weight.shape[1]}")
        weight = weight.detach().float()
        scale = weight.abs().amax(1).clamp(min=torch.finfo(torch.float32).tiny) / STEPS
        rounded = torch.round(weight / scale[:, None])
        # (in, out) whose columns lie together: oneDNN's fastest layout of a right factor.
        self.weight = rounded.to(torch.int8).contiguous().t()
        self.scale = scale.numpy()
        self.sums = (rounded.sum(1) * scale).numpy()
        self.bias = np.zeros(len(scale), np.float32) if bias is None else bias.detach().float().numpy()

    def __call__(self, inputs: Tensor) -> Tensor:
        """(n, in) -> (n, out)."""
        return self._outputs(inputs, _NO_RESIDUAL)

    def activated(self, inputs: Tensor, name: str, function: Callable[[Tensor], Tensor]) -> Tensor:  # noqa: ARG002
        """(n, in) -> (n, out), through an activation; the name is not needed here."""
        return function(self(inputs))

    def added(self, inputs: Tensor, residual: Tensor) -> Tensor:
        """(n, in) -> (n, out), plus a residual (n, out)."""
        return self._outputs(inputs, residual)

    def _outputs(self, inputs: Tensor, residual: Tensor) -> Tensor:
        inputs = inputs.contiguous()
        integers = torch.empty(inputs.shape, dtype=torch.int8)
        limits = _limits(inputs.numpy().view(np.int32)).view(np.float32)
        _quantize(inputs.numpy(), limits, integers.numpy())
        products = torch._int_mm(integers, self.weight)
        outputs = torch.empty(products.shape)
        _scale_back(
            products.numpy(),
            limits,
            self.scale,
            self.sums,
            self.bias,
            residual.contiguous().numpy(),
            outputs.numpy(),
        )
        return outputs


_NO_RESIDUAL = torch.empty(0, 0)


@compiled
def _limits(bits):
    """(n, 2) the bits of each row's least and largest number, given the (n, in) bits of its fp32 numbers.

    Without their signs' bit, negative numbers compare as integers in reverse order; compilers find vector instructions
    for extremes of integers only. A NaN is less or more than all numbers, and so becomes a limit.
    """
    limits = np.empty((bits.shape[0], 2), np.int32)
    others = np.int32(0x7FFFFFFF)
    for i in range(bits.shape[0]):
        least, most = others, ~others
        for j in range(bits.shape[1]):
            key = bits[i, j] ^ ((bits[i, j] >> 31) & others)
            least, most = min(least, key), max(most, key)
        limits[i, 0], limits[i, 1] = least ^ ((least >> 31) & others), most ^ ((most >> 31) & others)
    return limits


@compiled
def _grid(least, most):
    """The scale and the offset of a row: a component is about scale * integer + offset."""
    half = np.float32(0.5)
    scale = (half * most - half * least) / np.float32(STEPS)
    # Of a row of one number all integers are 0, whatever the scale; a scale of NaN stays.
    return (np.float32(1) if scale < LEAST_SCALE else scale), half * most + half * least


@compiled
def _quantize(inputs, limits, integers):
    """The integers -127 ... 127 nearest to each row's components."""
    # Cut off, positive numbers plus a half are rounded; a call of rint would keep the loop from vectors.
    positive = 128
    shift = np.float32(positive + 0.5)
    for i in range(inputs.shape[0]):
        scale, offset = _grid(limits[i, 0], limits[i, 1])
        factor = np.float32(1) / scale
        for j in range(inputs.shape[1]):
            integers[i, j] = np.int8(np.int32((inputs[i, j] - offset) * factor + shift) - positive)


@compiled
def _scale_back(products, limits, scales, sums, bias, residual, outputs):
    """The fp32 outputs of (n, out) products of integers, plus the residual unless it is empty."""
    for i in range(products.shape[0]):
        scale, offset = _grid(limits[i, 0], limits[i, 1])
        for j in range(products.shape[1]):
            outputs[i, j] = np.float32(products[i, j]) * (scale * scales[j]) + (offset * sums[j] + bias[j])
        if residual.shape[0]:
            for j in range(products.shape[1]):
                outputs[i, j] += residual[i, j]
