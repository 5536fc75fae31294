"""Attention of sequences of unequal lengths that lie one after the other, without padding: flash attention on a GPU.

PyTorch has two public ways to it. ``varlen_attn`` knows no dropout. ``scaled_dot_product_attention`` of jagged nested
tensors does, and gives the same kernel the same offsets (``torch/nested/_internal/sdpa.py``); making such tensors costs
it some time on the host, so it is used for dropout alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


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


def applies(states: Tensor, *, dropout: float) -> bool:
    """Whether :func:`varlen_attention` takes states such as these: on a GPU, in half precision.

    With dropout not while torch's compiler traces the call, for it was not tried with nested tensors.

    Args:
        states: queries, keys or values.
        dropout: of the attention weights.
    """
    half = states.dtype in (torch.float16, torch.bfloat16)
    traced = dropout > 0 and torch.compiler.is_compiling()
    return states.is_cuda and half and not traced and _varlen_attn() is not None


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
    if dropout:
        return jagged_attention(query, key, value, queries, keys, dropout=dropout, causal=causal)
    kernel = _varlen_attn()
    assert kernel is not None, "torch has varlen_attn from 2.10 on: ask applies() first"
    attended: Tensor = kernel(
        *(query, key, value, queries.offsets, keys.offsets, queries.longest, keys.longest),
        window_size=(-1, 0 if causal else -1),
    )
    return attended.flatten(1)


def jagged_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    queries: Sequences,
    keys: Sequences,
    *,
    dropout: float = 0.0,
    causal: bool = False,
) -> Tensor:
    """:func:`varlen_attention` by jagged nested tensors, on any device; a CPU goes sequence by sequence.

    Args:
        query, key, value, queries, keys, dropout: as there.
        causal: as there, but not on a CPU.

    Returns:
        (T, h * e).

    Raises:
        RuntimeError: causal on a CPU.
    """
    attended = F.scaled_dot_product_attention(
        _jagged(query, queries),
        _jagged(key, keys),
        _jagged(value, keys),
        dropout_p=dropout,
        is_causal=causal,
    )
    return attended.transpose(1, 2).values().flatten(1)


def _jagged(states: Tensor, sequences: Sequences) -> Tensor:
    """(T, h, e) -> (n, h, rows of each, e)."""
    # With both bounds of the lengths known, a GPU need not be asked for them.
    nested: Tensor = torch.nested.nested_tensor_from_jagged(
        states.contiguous(), sequences.offsets, min_seqlen=1, max_seqlen=sequences.longest
    )
    return nested.transpose(1, 2)
