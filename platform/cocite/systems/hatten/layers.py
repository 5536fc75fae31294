"""The layers of HAtten: positional encodings, a transformer layer over padded sequences, multi-head pooling."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


def sinusoids(count: int, dimension: int) -> Tensor:
    """(count, d) positional encodings (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, dimension, 2) * (-math.log(10_000) / dimension))
    angles = torch.arange(count)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)[:, :dimension]


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """(B, H, L, e) scaled dot-product attention of three (B, H, L, e) tensors.

    ``mask`` (B, 1, 1, L) is true where there is a key to attend to.
    """
    if query.device.type != "cpu":
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    # On a CPU and at these lengths, plain products take half the time of the fused kernel's backward pass.
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    seen: Tensor = weights.to(value.dtype) @ value
    return seen


class TransformerLayer(nn.Module):
    """One encoder layer: self-attention and a feed-forward net, each followed by a residual and a layer norm.

    Args:
        dimension: d.
        heads: of attention.
        feed_forward: width between the two linear maps.
        dropout: of what each branch adds.

    Example:
        >>> layer = TransformerLayer(8, 2, 16, 0.0)
        >>> layer(torch.zeros(3, 5, 8), torch.ones(3, 5, dtype=torch.bool)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(self, dimension: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dimension, 3 * dimension)
        self.output = nn.Linear(dimension, dimension)
        self.widen, self.narrow = nn.Linear(dimension, feed_forward), nn.Linear(feed_forward, dimension)
        self.attention_norm, self.forward_norm = nn.LayerNorm(dimension), nn.LayerNorm(dimension)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, L, d) from (B, L, d); ``mask`` (B, L) is true where there is something to attend to."""
        rows, length, dimension = x.shape
        query, key, value = (
            self.project(x).view(rows, length, 3, self.heads, dimension // self.heads).permute(2, 0, 3, 1, 4)
        )  # (B, H, L, d / H) each
        seen = attention(query, key, value, mask[:, None, None])
        seen = self.output(seen.transpose(1, 2).reshape(rows, length, dimension))
        x = self.attention_norm(x + self.dropout(seen))
        wide = self.narrow(self.dropout(functional.relu(self.widen(x))))
        normed: Tensor = self.forward_norm(x + self.dropout(wide))
        return normed


class MultiHeadPooling(nn.Module):
    """Pools a sequence into one vector: each head has its own trained weights of the words (Eq. 1-2).

    Args:
        dimension: d.
        heads: how many share d.

    Example:
        >>> mask = torch.tensor([[True, True, False]])
        >>> pooling, words = MultiHeadPooling(8, 2), torch.randn(1, 3, 8)
        >>> other = words.clone()
        >>> other[:, 2] = 7.0  # a masked word does not count
        >>> torch.equal(pooling(words, mask), pooling(other, mask))
        True
    """

    def __init__(self, dimension: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.value, self.score = nn.Linear(dimension, dimension), nn.Linear(dimension, heads)
        self.output = nn.Linear(dimension, dimension)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, d) from (B, L, d); each row of ``mask`` (B, L) has at least one true."""
        rows, _, dimension = x.shape
        scores = self.score(x).masked_fill(~mask[:, :, None], -torch.inf)  # (B, L, H)
        weights = functional.softmax(scores, 1).to(x.dtype)
        # The weights of a head sum to one, so the mean of its values is the value of the mean: L times fewer products.
        means = weights.transpose(1, 2) @ x  # (B, H, d)
        head = self.value.weight.view(self.heads, dimension // self.heads, dimension)
        values = (
            torch.einsum("bhd,hed->bhe", means, head.to(x.dtype)).reshape(rows, dimension) + self.value.bias
        )
        pooled: Tensor = self.output(functional.relu(values))
        return pooled
