"""Attention of sequences of unequal lengths that lie one after the other, without padding: flash attention on a GPU.

PyTorch's public way to it, ``varlen_attn``, knows no dropout. With dropout the operator is called that
``scaled_dot_product_attention`` calls for jagged nested tensors (``torch/nested/_internal/sdpa.py``). Such tensors are
made on the host, which takes longer than the attention (docs/decisions/0006-cross-encoder.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

HEAD_STEP = 8
"""The kernel takes heads whose width is a multiple of it."""


@dataclass(frozen=True)
class Sequences:
    """Where sequences lie among the rows of a matrix.

    Attributes:
        offsets: (n + 1,) int32, the first row of each sequence, and the number of all rows.
        longest: rows of the longest sequence; each has one at least.

    Example:
        >>> Sequences(torch.tensor([0, 3, 5], dtype=torch.int32), longest=3).longest
        3
    """

    offsets: Tensor
    longest: int


def applies(states: Tensor) -> bool:
    """Whether :func:`varlen_attention` takes states such as these: on a GPU, in half precision, heads as its kernel's.

    Args:
        states: (..., e), queries, keys or values of each head.
    """
    half = states.dtype in (torch.float16, torch.bfloat16)
    return states.is_cuda and half and states.shape[-1] % HEAD_STEP == 0 and _varlen_attn() is not None


@cache
def _varlen_attn() -> Callable[..., Any] | None:
    """torch's function; None in a torch before 2.10, where attention is padded on a GPU too.

    Its module imports torch's compiler, a second of CPU for each process, so it is imported when a GPU asks for it.
    """
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    return varlen_attn


def varlen_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    queries: Sequences,
    keys: Sequences,
    *,
    dropout: float = 0.0,
    causal: bool = False,
) -> Tensor:
    """softmax(q k' / sqrt(e)) v of each sequence, where :func:`applies` says so.

    Args:
        query: (T, h, e).
        key, value: (S, h, e).
        queries: the sequences among the T rows.
        keys: as many among the S rows.
        dropout: of the attention weights.
        causal: a row reads no later one of its sequence; the queries' sequences are those of the keys.

    Returns:
        (T, h * e).
    """
    rows = (query, key, value, queries.offsets, keys.offsets, queries.longest, keys.longest)
    if dropout:
        attended: Tensor = torch.ops.aten._flash_attention_forward(*rows, dropout, causal, False)[0]
    else:
        kernel = _varlen_attn()
        assert kernel is not None, "torch has varlen_attn from 2.10 on: ask applies() first"
        attended = kernel(*rows, window_size=(-1, 0 if causal else -1))
    return attended.flatten(1)
