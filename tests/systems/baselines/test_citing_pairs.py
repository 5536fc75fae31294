"""Pairs of context and cited paper, and the negative-sampling loss against its formula."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch

from cocite.systems.baselines.citing_pairs import CitingPairs, noise_loss, same_paper, table
from cocite.systems.baselines.texts import CitingTexts


def test_a_pass_has_every_pair_once_and_noise_of_cited_papers(texts: CitingTexts) -> None:
    pairs = CitingPairs(texts, noise=50, power=0.75, seed=3)
    expected = Counter(zip(*(side.tolist() for side in texts.cited.pairs()), strict=True))
    seen: Counter[tuple[int, int]] = Counter()
    cited = set(texts.cited.indices.tolist())
    orders = []
    for _ in range(2):
        seen.clear()
        for context, target, noise in pairs.batches(64):
            assert len(context) == len(target) <= 64
            assert len(noise) == 50
            assert set(noise.tolist()) <= cited
            seen.update(zip(context.tolist(), target.tolist(), strict=True))
        orders.append(list(seen))
        assert seen == expected
    assert orders[0] != orders[1], "each pass has an order of its own"
    assert sum(expected.values()) == len(pairs)


def test_the_same_seed_gives_the_same_batches(texts: CitingTexts) -> None:
    one, two, other = (next(CitingPairs(texts, noise=5, power=0.75, seed=s).batches(32)) for s in (1, 1, 2))
    assert all(map(np.array_equal, one, two))
    assert not all(map(np.array_equal, one, other))


def test_noise_follows_the_power_of_citation_counts(texts: CitingTexts) -> None:
    pairs = CitingPairs(texts, noise=200_000, power=0.5, seed=0)
    _, _, noise = next(pairs.batches(1))
    counts = np.bincount(texts.cited.indices, minlength=len(texts.history.corpus))
    expected = np.sqrt(counts) / np.sqrt(counts).sum()
    np.testing.assert_allclose(np.bincount(noise, minlength=len(counts)) / len(noise), expected, atol=2e-3)


def test_the_loss_is_its_formula_in_float64() -> None:
    rng = np.random.default_rng(0)
    queries, cited, noise = (rng.normal(size=shape) for shape in ((4, 3), (4, 3), (5, 3)))
    same = rng.random((4, 5)) < 0.3
    k = 7

    def log_sigmoid(x: float) -> float:
        return -math.log1p(math.exp(-x))

    losses = []
    for i in range(4):
        far = [0.0 if same[i, j] else log_sigmoid(-queries[i] @ noise[j]) for j in range(5)]
        losses.append(-log_sigmoid(queries[i] @ cited[i]) - k * sum(far) / 5)
    tensors = (torch.from_numpy(array) for array in (queries, cited, noise, same))
    assert noise_loss(*tensors, negatives=k).item() == pytest.approx(np.mean(losses), rel=1e-12)


def test_noise_that_is_the_cited_paper_has_no_gradient() -> None:
    noise = torch.ones(2, 3, requires_grad=True)
    same = same_paper(np.array([4]), np.array([4, 5]))
    noise_loss(torch.ones(1, 3), torch.ones(1, 3), noise, same, negatives=5).backward()
    assert noise.grad is not None
    assert not noise.grad[0].any()
    assert noise.grad[1].all()


def test_a_table_is_scaled_to_a_mean_length() -> None:
    vectors = np.array([[3, 4], [0, 0], [0, 15]], np.float32)
    scaled = table(vectors, 0.1).weight.detach().numpy()
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), [0.05, 0, 0.15], rtol=1e-6)
    assert table(vectors).weight.detach().numpy().tolist() == vectors.tolist()
    table(vectors)(torch.tensor([2])).sum().backward()
    zero = table(np.zeros((2, 2), np.float32), 0.1).weight
    assert not zero.any()
