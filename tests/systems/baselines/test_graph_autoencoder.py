"""The graph auto-encoder against its equations over all pairs, written out in numpy at float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cocite.systems.baselines.graph_autoencoder import (
    GraphAutoEncoder,
    graph_loss,
    normalised_links,
    train_graph,
)

LEFT, RIGHT = np.array([0, 1, 3]), np.array([1, 2, 1])
PAPERS = 5


def adjacency() -> np.ndarray:
    """(n, n) with the papers themselves."""
    links = np.eye(PAPERS)
    links[LEFT, RIGHT] = links[RIGHT, LEFT] = 1
    return links


def test_convolutions_are_what_the_equations_say() -> None:
    torch.manual_seed(0)
    model = GraphAutoEncoder(4, 3, 2).double()
    features = np.random.default_rng(0).normal(size=(PAPERS, 4))
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    scale = np.diag(adjacency().sum(1) ** -0.5)
    around = scale @ adjacency() @ scale
    np.testing.assert_allclose(normalised_links(LEFT, RIGHT, PAPERS).to_dense().numpy(), around, rtol=1e-6)
    seen = np.maximum(0, around @ features @ weights["inner.weight"].T)
    with torch.no_grad():
        mean, spread = model(torch.from_numpy(features), torch.from_numpy(around))
        alone, _ = model(torch.from_numpy(features), None)
    np.testing.assert_allclose(mean, around @ seen @ weights["mean.weight"].T, rtol=1e-12)
    np.testing.assert_allclose(spread, around @ seen @ weights["spread.weight"].T, rtol=1e-12)
    np.testing.assert_allclose(
        alone, np.maximum(0, features @ weights["inner.weight"].T) @ weights["mean.weight"].T, rtol=1e-12
    )


def test_a_paper_without_links_is_read_as_if_alone() -> None:
    torch.manual_seed(0)
    model, features = GraphAutoEncoder(4, 3, 2), torch.randn(PAPERS, 4)
    with torch.no_grad():
        (linked, _), (alone, _) = (
            model(features, normalised_links(LEFT, RIGHT, PAPERS)),
            model(features, None),
        )
    torch.testing.assert_close(linked[4], alone[4])
    assert not torch.allclose(linked[1], alone[1])


def test_the_loss_is_the_weighted_one_over_all_pairs() -> None:
    """Kipf and Welling: links count as much as all that is none, and a pair counts in both orders."""
    rng = np.random.default_rng(1)
    mean, spread, drawn = (rng.normal(size=(PAPERS, 2)) for _ in range(3))
    links = adjacency()
    odds = drawn @ drawn.T
    positive = links.sum()
    weight = (PAPERS**2 - positive) / positive
    costs = -(weight * links * np.log(1 / (1 + np.exp(-odds))) + (1 - links) * np.log(1 / (1 + np.exp(odds))))
    norm = PAPERS**2 / (2 * (PAPERS**2 - positive))
    divergence = 0.5 / PAPERS * np.mean(np.sum(1 + 2 * spread - mean**2 - np.exp(spread) ** 2, axis=1))
    wanted = norm * costs.mean() - divergence
    present, absent = (torch.from_numpy(np.stack(np.nonzero(which))) for which in (links, 1 - links))
    found = graph_loss(*map(torch.from_numpy, (mean, spread, drawn)), present, absent)
    assert found.item() == pytest.approx(wanted, rel=1e-12)


def test_gradients_are_right() -> None:
    torch.manual_seed(0)
    model, features = GraphAutoEncoder(4, 3, 2).double(), torch.randn(PAPERS, 4, dtype=torch.float64)
    noise, around = torch.randn(PAPERS, 2, dtype=torch.float64), torch.from_numpy(adjacency())
    links, others = torch.from_numpy(np.stack([LEFT, RIGHT])), torch.tensor([[0, 4], [2, 3]])
    names = [name for name, _ in model.named_parameters()]

    def cost(*values: torch.Tensor) -> torch.Tensor:
        made = dict(zip(names, values, strict=True))
        mean, spread = torch.func.functional_call(model, made, (features, around))
        return graph_loss(mean, spread, mean + noise * spread.exp(), links, others)

    assert torch.autograd.gradcheck(
        cost, tuple(value.detach().requires_grad_() for value in model.parameters())
    )


def test_linked_papers_come_near_and_the_seed_alone_decides() -> None:
    """Two groups, with links within each alone."""
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    features = (np.eye(2)[group] + rng.normal(scale=0.3, size=(60, 2))).astype(np.float32)
    left, right = rng.integers(0, 60, (2, 400))
    left, right = (ends[(group[left] == group[right]) & (left != right)] for ends in (left, right))
    size = {"hidden": 8, "latent": 4, "learning_rate": 0.02}
    one, same, other = (
        train_graph(features, left, right, epochs=300, seed=seed, **size) for seed in (0, 0, 1)
    )
    with torch.no_grad():
        mean, _ = one(torch.from_numpy(features), None)
    odds = (mean @ mean.T).numpy()
    together = group[:, None] == group
    assert odds[together].mean() > odds[~together].mean() + 1
    for name, value in one.state_dict().items():
        torch.testing.assert_close(value, same.state_dict()[name], rtol=0, atol=0)
    assert not torch.equal(one.mean.weight, other.mean.weight)
