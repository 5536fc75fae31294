"""The sentence vectors of a frozen trunk as inputs of the layers over a document's sentences."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

SIZE = 0.3
"""Norm of a projected vector at the beginning: about that of the mean of a sentence's word vectors, of norm 1 each."""


class TrunkProjection(nn.Module):
    """Standardises vectors, whose means and deviations are given, and projects them.

    A trunk's vectors have a large common part, which would drown what tells sentences apart, so each component is
    standardised. The weights begin with deviation 1 and their product is scaled, so that a step of Adam, which changes
    every weight alike, changes the result by a small share of it.

    Args:
        width: t, components of the trunk's vectors.
        hidden: d, components of the result.

    Example:
        >>> projection = TrunkProjection(width=4, hidden=8)
        >>> projection.set_statistics(np.full(4, 2.0, np.float32), np.full(4, 0.5, np.float32))
        >>> projection.standardised(torch.tensor([[2.0, 2.5, 3.0, 1.0]]))
        tensor([[ 0.,  1.,  2., -2.]])
        >>> projection(torch.ones(3, 4)).shape
        torch.Size([3, 8])
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        # Parameters and not buffers, so that they are in every file of weights; never trained.
        self.mean = nn.Parameter(torch.zeros(width), requires_grad=False)
        self.deviation = nn.Parameter(torch.ones(width), requires_grad=False)
        self.weight = nn.Parameter(torch.randn(width, hidden))
        self.size = SIZE / (width * hidden) ** 0.5

    @torch.no_grad()
    def set_statistics(self, mean: NDArray[np.float32], deviation: NDArray[np.float32]) -> None:
        """Set what vectors are standardised by, (t,) each."""
        self.mean.copy_(torch.tensor(mean))
        self.deviation.copy_(torch.tensor(deviation))

    def standardised(self, vectors: Tensor) -> Tensor:
        """(n, t) float32 vectors of mean 0 and deviation 1 in each component."""
        return (vectors.float() - self.mean) / self.deviation

    def forward(self, vectors: Tensor) -> Tensor:
        """(n, d) from (n, t)."""
        projected: Tensor = self.size * (self.standardised(vectors) @ self.weight)
        return projected
