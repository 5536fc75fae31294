"""Dense layers on a CPU, by the library and in the precision that are fastest on this machine, as measured.

torch multiplies fp32 matrices with MKL, which is slow on processors of another make, and bf16 ones with oneDNN, which
is fast only where the processor has bf16 instructions. oneDNN also takes weights that were rearranged for it once, and
adds bias, activation or residual in the same pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from cocite.nn.int8_dense import Int8Dense, has_int8

Precision = Literal["fp32", "bf16"]
DTYPES: dict[str, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16}
FASTER = 1.2
"""Factor by which bf16 must be faster than fp32 to justify its rounding."""
INT8_FASTER = 1.5
"""Factor by which integers must be faster than fp32 and bf16 to justify theirs."""
_FUSED = {"gelu": ("gelu", "none"), "gelu_new": ("gelu", "tanh"), "relu": ("relu", "")}
"""Activations by Hugging Face's name, as oneDNN's operator and algorithm."""


@dataclass(frozen=True)
class Speed:
    """Measured speed of dense layers, in GFLOP/s of one thread.

    Attributes:
        plain: fp32 by torch's own matrix product.
        packed: fp32 by oneDNN with rearranged weights; 0 without oneDNN.
        bf16: likewise in bf16; 0 where the processor or oneDNN has none.
        int8: by integers, from fp32 inputs to fp32 outputs; 0 where the processor has no instruction for them.

    Example:
        >>> Speed(plain=60.0, packed=110.0, bf16=300.0).best
        'bf16'
        >>> Speed(plain=60.0, packed=110.0, bf16=120.0).best  # not worth the rounding
        'fp32'
    """

    plain: float
    packed: float
    bf16: float
    int8: float = 0.0

    @property
    def int8_pays(self) -> bool:
        """Whether integers are so much faster than all else that their rounding is worth it."""
        return self.int8 > INT8_FASTER * max(self.plain, self.packed, self.bf16)

    @property
    def best(self) -> Precision:
        """The floating-point precision to compute in."""
        return "bf16" if self.bf16 > FASTER * max(self.plain, self.packed) else "fp32"


@cache
def measure(width: int, inner: int, rows: int = 512) -> Speed:
    """Time a (rows, width) x (width, inner) layer each way: a few dozen milliseconds, once a process.

    Call it from a thread that torch gives one core, as the scoring threads are: it counts that thread's time alone.
    """
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, width, generator=generator)
    weight = torch.randn(inner, width, generator=generator)
    bias = torch.zeros(inner)
    flops = 2.0 * rows * width * inner

    def speed(dense: Dense | Int8Dense) -> float:
        sample = inputs.to(dense.dtype)
        return flops / _best_time(lambda: dense(sample)) / 1e9

    with torch.inference_mode():
        return Speed(
            plain=speed(Dense(weight, bias, torch.float32, packed=False)),
            packed=speed(Dense(weight, bias, torch.float32, packed=True)) if can_pack(torch.float32) else 0.0,
            bf16=speed(Dense(weight, bias, torch.bfloat16, packed=True)) if can_pack(torch.bfloat16) else 0.0,
            int8=speed(Int8Dense(weight, bias)) if has_int8() else 0.0,
        )


def _best_time(step: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of this thread in the fastest of some runs, after a first run that does not count."""
    step()
    best = float("inf")
    for _ in range(repeats):
        # Time of this thread, not of the clock: other processes must not decide the precision.
        start = time.thread_time()
        step()
        best = min(best, time.thread_time() - start)
    return max(best, 1e-9)


def has_onednn() -> bool:
    """Whether torch was built with oneDNN and offers the operators used here."""
    return torch._C._has_mkldnn and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def can_pack(dtype: torch.dtype) -> bool:
    """Whether oneDNN multiplies this type here: bf16 needs a processor with AVX-512 or AVX-NE-CONVERT."""
    return has_onednn() and (dtype != torch.bfloat16 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()))


class Dense:
    """A frozen dense layer.

    Args:
        weight: (out, in).
        bias: (out,) or None.
        dtype: of weights, inputs and outputs.
        packed: whether oneDNN computes with weights rearranged for it, where :func:`can_pack`; else torch's product.

    Example:
        >>> dense = Dense(torch.eye(2), torch.tensor([0.0, 1.0]), torch.float32, packed=False)
        >>> dense(torch.tensor([[3.0, 4.0]]))
        tensor([[3., 5.]])
        >>> dense.added(torch.tensor([[3.0, 4.0]]), residual=torch.tensor([[10.0, 10.0]]))
        tensor([[13., 15.]])
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype, *, packed: bool) -> None:
        self.dtype, self.packed = dtype, packed and can_pack(dtype)
        self.weight = weight.detach().to(dtype).contiguous()
        self.bias = None if bias is None else bias.detach().to(dtype)
        if self.packed:
            # The number of rows is a hint for the layout; inputs may have any number of rows.
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, 1024)

    def __call__(self, inputs: Tensor) -> Tensor:
        """(n, in) -> (n, out)."""
        if not self.packed:
            return F.linear(inputs, self.weight, self.bias)
        return self._pointwise(inputs, "none", "")

    def activated(self, inputs: Tensor, name: str, function: Callable[[Tensor], Tensor]) -> Tensor:
        """(n, in) -> (n, out), through an activation.

        Args:
            inputs: (n, in).
            name: Hugging Face's name of the activation.
            function: the activation itself, which is used where oneDNN has none of that name.
        """
        if self.packed and name in _FUSED:
            return self._pointwise(inputs, *_FUSED[name])
        return function(self(inputs))

    def added(self, inputs: Tensor, residual: Tensor) -> Tensor:
        """(n, in) -> (n, out), plus a residual (n, out), in the residual's precision."""
        if not self.packed or residual.dtype != self.dtype:
            return self(inputs).to(residual.dtype).add_(residual)
        outputs: Tensor = torch.ops.mkldnn._linear_pointwise.binary(
            inputs, residual, self.weight, self.bias, "add"
        )
        return outputs

    def _pointwise(self, inputs: Tensor, operator: str, algorithm: str) -> Tensor:
        outputs: Tensor = torch.ops.mkldnn._linear_pointwise(
            inputs, self.weight, self.bias, operator, [], algorithm
        )
        return outputs
