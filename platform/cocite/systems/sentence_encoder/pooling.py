"""Sentence vectors from the states of a text's tokens, by sentence-transformers' names of the ways."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Pooling = Literal["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
"""How the states of a text's tokens become one vector, by sentence-transformers' names."""


def pool(states: Tensor, offsets: Tensor, pooling: Pooling) -> Tensor:
    """Unit vectors of packed texts.

    Args:
        states: (T, d) of all tokens, text after text.
        offsets: (n + 1,) text i has the tokens ``offsets[i] : offsets[i + 1]``, at least one.
        pooling: how the states of a text become one vector.

    Returns:
        (n, d) float32.

    Example:
        >>> states, offsets = torch.tensor([[3.0, 0.0], [3.0, 8.0], [0.0, 5.0]]), torch.tensor([0, 2, 3])
        >>> pool(states, offsets, "mean").tolist()[1], pool(states, offsets, "cls").tolist()[0]
        ([0.0, 1.0], [1.0, 0.0])
    """
    states = states.float()
    if pooling == "cls":
        pooled = states[offsets[:-1]]
    elif pooling == "lasttoken":
        pooled = states[offsets[1:] - 1]
    else:
        lengths = offsets.diff()
        if pooling == "weightedmean":
            first = offsets[:-1].repeat_interleave(lengths, output_size=len(states))
            states = states * (torch.arange(1, len(states) + 1, device=states.device) - first)[:, None]
        # The vectors are normalised afterwards, so a sum serves as well as any mean.
        kind = "max" if pooling == "max" else "sum"
        pooled = torch.segment_reduce(states, kind, lengths=lengths, axis=0)
    return functional.normalize(pooled, dim=1)
