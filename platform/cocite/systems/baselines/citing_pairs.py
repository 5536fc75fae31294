"""Pairs of a context and a paper it cites, in batches, and the noise that they are told from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.sampling.noise import NoiseDistribution
from cocite.systems.baselines.texts import CitingTexts


class CitingPairs:
    """All pairs of a history, and draws from the papers by how many contexts cite each.

    Args:
        texts: the contexts.
        noise: papers drawn for a batch, which all its pairs share.
        power: of the number of citing contexts.
        seed: of the order and the draws.
    """

    def __init__(self, texts: CitingTexts, *, noise: int, power: float, seed: int) -> None:
        context, cited = texts.cited.pairs()
        self.contexts, self.cited = context.astype(np.int64), cited.astype(np.int64)
        self.drawn = noise
        self.noise = NoiseDistribution(np.bincount(cited, minlength=len(texts.history.corpus)), power)
        self.rng = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self.cited)

    def batches(self, size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """One pass in random order: contexts (b,) by their place in the history's, cited papers (b,), noise (m,)."""
        order = self.rng.permutation(len(self))
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            noise = self.noise.draw(self.rng.random(self.drawn)).astype(np.int64)
            yield self.contexts[chosen], self.cited[chosen], noise


def noise_loss(queries: Tensor, cited: Tensor, noise: Tensor, same: Tensor, negatives: int) -> Tensor:
    """Mean negative-sampling loss (Mikolov et al. 2013), its noise shared: -log s(q c) - k mean of log s(-q n).

    With the mean over all noise in place of a sum over k draws the loss has the same expectation and less variance,
    and is one matrix product.

    Args:
        queries: (b, d).
        cited: (b, d) vectors of what each cites.
        noise: (m, d) vectors of what all are told from.
        same: (b, m) where the noise is the cited paper itself, which does not count.
        negatives: k, draws that the noise stands for.
    """
    near = functional.softplus(-(queries * cited).sum(1))  # (b,)
    far = functional.softplus(queries @ noise.T).masked_fill(same, 0.0)  # (b, m)
    return (near + negatives * far.mean(1)).mean()


def same_paper(cited: NDArray[np.int64], noise: NDArray[np.int64]) -> Tensor:
    """(b, m) where the noise (m,) is the cited paper (b,)."""
    return torch.from_numpy(cited[:, None] == noise)


def table(vectors: NDArray[np.float32], length: float | None = None) -> nn.Embedding:
    """Vectors (n, d) as what is trained, of which a batch touches few.

    Args:
        vectors: to begin with.
        length: mean length that they are brought to, those of zero apart; None: as they are.
    """
    lengths = np.linalg.norm(vectors, axis=1)
    scale = length / lengths[lengths > 0].mean() if length is not None and lengths.any() else 1.0
    begin = torch.from_numpy(np.asarray(vectors * scale, np.float32))
    return nn.Embedding(len(begin), begin.shape[1], _weight=begin, sparse=True)
