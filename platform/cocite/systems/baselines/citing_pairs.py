"""Batches of pairs of a context and a paper that it cites, and the loss that sets the cited paper apart from noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.sampling.noise import NoiseDistribution
from cocite.systems.baselines.texts import CitingTexts


class CitingPairs:
    """All pairs of a history, and noise: papers drawn by how many contexts cite each.

    Args:
        texts: the contexts.
        noise: papers drawn for a batch, which all its pairs share.
        power: exponent of the number of citing contexts in the draw.
        seed: of the order and the draws.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     history = History.all(build(Synthetic(60, seed=1), folder + "/corpus"))
        ...     pairs = CitingPairs(CitingTexts.of(history, ParagraphSettings()), noise=5, power=0.75, seed=0)
        >>> contexts, cited, noise = next(pairs.batches(8))
        >>> contexts.shape, cited.shape, noise.shape
        ((8,), (8,), (5,))
    """

    def __init__(self, texts: CitingTexts, *, noise: int, power: float, seed: int) -> None:
        context, cited = texts.cited.pairs()
        self.contexts, self.cited = context.astype(np.int64), cited.astype(np.int64)
        self.drawn = noise
        self.noise = NoiseDistribution.of(np.bincount(cited, minlength=len(texts.history.corpus)), power)
        self.rng = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self.cited)

    def batches(self, size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """One pass in random order: positions (b,) in ``history.contexts``, cited papers (b,), noise (m,)."""
        order = self.rng.permutation(len(self))
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            noise = self.noise.draw(self.rng.random(self.drawn)).astype(np.int64)
            yield self.contexts[batch], self.cited[batch], noise


def noise_loss(queries: Tensor, cited: Tensor, noise: Tensor, same: Tensor, negatives: int) -> Tensor:
    """Mean negative-sampling loss (Mikolov et al. 2013), its noise shared: -log s(q c) - k mean of log s(-q n).

    With the mean over all noise in place of a sum over k draws the loss has the same expectation and less variance,
    and is one matrix product.

    Args:
        queries: (b, d).
        cited: (b, d) vectors of the paper that each cites.
        noise: (m, d) vectors of the noise.
        same: (b, m) where the noise is the cited paper itself, which does not count.
        negatives: k, the number of draws whose sum the mean over the noise replaces.

    Example:
        >>> query, near, far = torch.tensor([[9.0]]), torch.tensor([[1.0]]), torch.tensor([[-1.0], [1.0]])
        >>> noise_loss(query, near, far, torch.tensor([[False, True]]), negatives=5) < 0.001
        tensor(True)
    """
    near = functional.softplus(-(queries * cited).sum(1))  # (b,)
    far = functional.softplus(queries @ noise.T).masked_fill(same, 0.0)  # (b, m)
    return (near + negatives * far.mean(1)).mean()


def same_paper(cited: NDArray[np.int64], noise: NDArray[np.int64]) -> Tensor:
    """(b, m) where the noise (m,) is the cited paper (b,).

    Example:
        >>> same_paper(np.array([3, 7]), np.array([7, 9])).tolist()
        [[False, False], [True, False]]
    """
    return torch.from_numpy(cited[:, None] == noise)


class TableOptimizers:
    """Adam for a network with tables whose gradients are sparse: of these, the rows that a batch used; else everywhere.

    Args:
        model: the network; weights without gradients stay as they are.
        tables: its weights with sparse gradients.
        learning_rate: of both.

    Example:
        >>> words = table(np.ones((3, 2), np.float32))
        >>> optimizers = TableOptimizers(nn.Sequential(words, nn.Linear(2, 1)), [words.weight], 0.5)
        >>> optimizers.step(words(torch.tensor([1])).sum())
        >>> words.weight[:, 0].round(decimals=3).tolist()
        [1.0, 0.5, 1.0]
    """

    def __init__(self, model: nn.Module, tables: Sequence[Tensor], learning_rate: float) -> None:
        sparse = {id(one) for one in tables}
        dense = [one for one in model.parameters() if id(one) not in sparse and one.requires_grad]
        self._both = [
            torch.optim.SparseAdam(list(tables), lr=learning_rate),
            torch.optim.Adam(dense, lr=learning_rate),
        ]

    def step(self, loss: Tensor) -> None:
        """Change the weights by the gradients of a loss."""
        for optimizer in self._both:
            optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for optimizer in self._both:
            optimizer.step()


def table(vectors: NDArray[np.float32], length: float | None = None) -> nn.Embedding:
    """An embedding with sparse gradients that begins with some vectors (n, d).

    Args:
        vectors: the initial ones.
        length: mean length that the vectors other than 0 are scaled to; None: they are not scaled.

    Example:
        >>> table(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32), length=1.0).weight[0].tolist()
        [0.6000000238418579, 0.800000011920929]
    """
    lengths = np.linalg.norm(vectors, axis=1)
    scale = length / lengths[lengths > 0].mean() if length is not None and lengths.any() else 1.0
    initial = torch.from_numpy(np.asarray(vectors * scale, np.float32))
    return nn.Embedding(len(initial), initial.shape[1], _weight=initial, sparse=True)
