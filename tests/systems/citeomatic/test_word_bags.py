from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.citeomatic import sets_as_bags as bags

from cocite.systems.citeomatic.word_bags import TokenBags, WordVectors, embedding_penalty

TYPES = 12


def test_gradient_of_the_sums() -> None:
    torch.manual_seed(0)
    table = WordVectors(TYPES, 3, sparse=False).double()
    batch = TokenBags.of(bags([{1, 2}, set(), {2, 5, 7}]))

    def sums(magnitude: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(
            _Sums(table), {"table.magnitude": magnitude, "table.direction": direction}, (batch,)
        )

    assert torch.autograd.gradcheck(sums, (table.magnitude, table.direction))


def test_a_word_without_direction_has_a_finite_gradient() -> None:
    table = WordVectors(TYPES, 3)
    with torch.no_grad():
        table.direction[5] = 0
    sums, _ = table.sums(TokenBags.of(bags([{2, 5}])))
    sums.sum().backward()
    assert torch.equal(sums[0], table(torch.tensor([2]))[0])
    assert table.direction.grad is not None
    assert bool(table.direction.grad.to_dense().isfinite().all())


class _Sums(torch.nn.Module):
    def __init__(self, table: WordVectors) -> None:
        super().__init__()
        self.table = table

    def forward(self, batch: TokenBags) -> torch.Tensor:
        return self.table.sums(batch)[0]


def test_sparse_and_dense_gradients_are_equal() -> None:
    batch = TokenBags.of(bags([{1, 2}, {2, 5, 7}]))
    grads = []
    for sparse in (True, False):
        torch.manual_seed(0)
        table = WordVectors(TYPES, 3, sparse=sparse)
        (table.sums(batch)[0] * torch.arange(6.0).view(2, 3)).sum().backward()
        assert table.direction.grad is not None
        grads.append(table.direction.grad.to_dense() if sparse else table.direction.grad)
    assert torch.allclose(*grads)
    assert grads[0][3].abs().max() == 0


def test_word_dropout_keeps_about_its_share_within_each_bag() -> None:
    table = bags([set(range(12)), set(), set(range(6))])
    batch = TokenBags.of(table)
    torch.manual_seed(1)
    kept = [batch.dropped(0.6) for _ in range(300)]
    assert np.mean([len(k.types) for k in kept]) == pytest.approx(0.4 * 18, rel=0.1)
    for one in kept[:20]:
        assert one.offsets[-1] == len(one.types)
        assert one.offsets[1] == one.offsets[2]  # the empty bag stays empty
        assert set(one.types[one.offsets[2] :].tolist()) <= set(range(6))
    torch.manual_seed(1)
    assert torch.equal(batch.dropped(0.6).types, kept[0].types)
    assert batch.dropped(0.0) is batch


def test_penalty_equals_the_formula() -> None:
    vectors = torch.tensor([[3.0, -4.0], [0.0, 1.0]])
    assert embedding_penalty(vectors, l1=0.1, l2=0.01).item() == pytest.approx(
        0.1 * (7 + 1) / 2 + 0.01 * (25 + 1) / 2
    )


def test_joined_bags_are_the_ones_then_the_others() -> None:
    one, other = TokenBags.of(bags([{1}, {2, 3}])), TokenBags.of(bags([set(), {4}]))
    both = one.joined(other)
    assert both.types.tolist() == [1, 2, 3, 4]
    assert both.offsets.tolist() == [0, 1, 3, 3, 4]


def test_bags_of_some_rows() -> None:
    table = bags([{1}, {2, 3}, set(), {9}])
    some = TokenBags.of(table, np.array([3, 1, 1], np.int32))
    assert some.types.tolist() == [9, 2, 3, 2, 3]
    assert some.offsets.tolist() == [0, 1, 3, 5]


def test_a_frozen_table_does_not_follow_the_weights() -> None:
    table = WordVectors(TYPES, 3)
    table.freeze()
    before = table.table().clone()
    table.magnitude.data += 1
    assert torch.equal(table.table(), before)
