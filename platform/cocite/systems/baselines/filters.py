"""Filters over lists of words or authors, which NCN, DualCon and DualEnh have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

PADDING = -1
"""Number behind the end of a list."""
FilterWidth = Annotated[int, Field(ge=1, le=64)]
"""Words or authors that a filter reads at once."""


class MaxFilters(nn.Module):
    """For each width the maximum over the places of a rectified convolution.

    Args:
        numbers: of words or authors; :data:`PADDING` is one more.
        dimension: of their vectors.
        channels: of each width's encoding.
        widths: of the filters.

    Example:
        >>> read = MaxFilters(10, 4, channels=6, widths=(1, 2))
        >>> read(torch.tensor([[3, 4, 5], [3, PADDING, PADDING]])).shape
        torch.Size([2, 2, 6])
    """

    def __init__(self, numbers: int, dimension: int, channels: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.vectors = nn.Embedding(numbers + 1, dimension, padding_idx=numbers)
        self.widths = tuple(widths)
        self.filters = nn.ModuleList(nn.Conv1d(dimension, channels, width) for width in widths)

    def forward(self, numbers: Tensor) -> Tensor:
        """(b, n) numbers to (b, widths, channels); a filter that is wider than the list reads padding, which is 0."""
        lengths = (numbers != PADDING).sum(1)
        read = functional.pad(numbers, (0, max(self.widths) - 1), value=PADDING)
        read = torch.where(read == PADDING, self.vectors.num_embeddings - 1, read)
        vectors = self.vectors(read).transpose(1, 2)  # (b, d, n + widest - 1)
        encodings = []
        for width, convolution in zip(self.widths, self.filters, strict=True):
            found = convolution(vectors).relu()  # (b, c, places)
            # The first place always counts, and the others where the filter reads no padding.
            places = torch.arange(found.shape[2]) < (lengths - width + 1).clamp(min=1)[:, None]
            # What is rectified is 0 or more, so that a place that does not count is never the maximum.
            encodings.append((found * places[:, None]).amax(2))
        return torch.stack(encodings, dim=1)
