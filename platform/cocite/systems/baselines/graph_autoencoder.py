"""The variational graph auto-encoder (Kipf and Welling 2016), whose vectors of papers BERT-GCN reads.

Two graph convolutions give each paper a normal distribution, from what the paper and those that it is linked to are
about; the inner product of two draws is the log-odds of a link. The loss is that of the authors: the cross-entropy of
all pairs, in which links weigh as much as what is no link, and the divergence from the standard normal distribution.
Pairs that are no link are drawn anew for each pass, as many as there are links, in place of all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional


class GraphAutoEncoder(nn.Module):
    """Means and logarithms of standard deviations of papers' vectors.

    Args:
        features: components of what is known of a paper's text.
        hidden: of the first convolution.
        latent: of a vector.

    Example:
        >>> encoder = GraphAutoEncoder(features=5, hidden=4, latent=2)
        >>> links = normalised_links(np.array([0]), np.array([2]), 3)
        >>> encoder(torch.ones(3, 5), links)[0].shape, encoder(torch.ones(7, 5), None)[1].shape
        (torch.Size([3, 2]), torch.Size([7, 2]))
    """

    def __init__(self, features: int, hidden: int, latent: int) -> None:
        super().__init__()
        self.inner = nn.Linear(features, hidden, bias=False)
        self.mean = nn.Linear(hidden, latent, bias=False)
        self.spread = nn.Linear(hidden, latent, bias=False)

    def forward(self, features: Tensor, links: Tensor | None) -> tuple[Tensor, Tensor]:
        """(n, latent) means and logarithms of standard deviations.

        Args:
            features: (n, features) of papers.
            links: of :func:`normalised_links`; None: no paper has a link, so that each is read alone.
        """
        inner = self.inner(features)
        seen = (inner if links is None else links @ inner).relu()
        around = seen if links is None else links @ seen
        return self.mean(around), self.spread(around)


def normalised_links(left: NDArray[np.integer], right: NDArray[np.integer], papers: int) -> Tensor:
    """The sparse matrix D^-1/2 (A + I) D^-1/2 (n, n), in which each link counts both ways.

    Example:
        >>> normalised_links(np.array([0]), np.array([1]), 2).to_dense().tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    own = np.arange(papers)
    rows, columns = np.concatenate([left, right, own]), np.concatenate([right, left, own])
    degrees = np.bincount(rows, minlength=papers)
    values = (1 / np.sqrt(degrees[rows] * degrees[columns])).astype(np.float32)
    places = torch.from_numpy(np.stack([rows, columns]).astype(np.int64))
    return torch.sparse_coo_tensor(
        places, torch.from_numpy(values), (papers, papers), check_invariants=True
    ).coalesce()


def graph_loss(mean: Tensor, spread: Tensor, drawn: Tensor, links: Tensor, others: Tensor) -> Tensor:
    """The loss of a pass.

    Args:
        mean: (n, latent).
        spread: (n, latent) logarithms of standard deviations.
        drawn: (n, latent) a vector of each paper.
        links: (2, e) the two papers of each link.
        others: (2, m) pairs that are no link.

    Example:
        >>> zeros, drawn = torch.zeros(2, 1), torch.tensor([[9.0], [9.0]])
        >>> float(graph_loss(zeros, zeros, drawn, torch.tensor([[0], [1]]), torch.tensor([[], []]).long())) < 0.01
        True
    """
    present, absent = ((drawn[left] * drawn[right]).sum(1) for left, right in (links, others))
    # Without pairs there is no cost of them: the mean over none is not a number.
    costs = sum(
        functional.softplus(sign * odds).sum() / max(len(odds), 1)
        for sign, odds in ((-1, present), (1, absent))
    )
    divergence = -0.5 * (1 + 2 * spread - mean**2 - (2 * spread).exp()).sum(1).mean()
    return 0.5 * costs + divergence / len(mean)


def train_graph(
    features: NDArray[np.float32],
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    *,
    hidden: int,
    latent: int,
    epochs: int,
    learning_rate: float,
    seed: int = 0,
    advance: Callable[[int], object] = lambda _: None,
) -> GraphAutoEncoder:
    """Train on the links of some papers.

    Args:
        features: (n, f) of the papers.
        left: (e,) one paper of each link, numbered as the features.
        right: (e,) the other one.
        hidden: see :class:`GraphAutoEncoder`.
        latent: see there.
        epochs: passes over all links.
        learning_rate: of Adam.
        seed: of weights, vectors and pairs that are no link.
        advance: called with 1 after each pass.
    """
    rng = np.random.default_rng(seed)
    read, edges = torch.from_numpy(features), torch.from_numpy(np.stack([left, right]).astype(np.int64))
    links = normalised_links(left, right, len(features))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GraphAutoEncoder(features.shape[1], hidden, latent)
        optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
        for _ in range(epochs):
            mean, spread = model(read, links)
            drawn = mean + torch.randn_like(mean) * spread.exp()
            others = torch.from_numpy(rng.integers(0, len(features), edges.shape))
            optimizer.zero_grad()
            graph_loss(mean, spread, drawn, edges, others).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            advance(1)
    return model
