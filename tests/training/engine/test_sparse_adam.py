"""The same steps as torch's own sparse Adam, whether the kernel takes them or torch does."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cocite.training.engine import sparse_adam
from cocite.training.engine.sparse_adam import SparseAdam


def stepped(kind: type[torch.optim.Optimizer], dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """The weights and moments of two tables after twelve steps, in the middle of which the optimizer was loaded."""
    torch.manual_seed(3)
    wide, narrow = (nn.Embedding(50, width, sparse=True, dtype=dtype) for width in (17, 1))
    tables = [wide.weight, narrow.weight]
    groups = [{"params": [table], "lr": rate} for table, rate in zip(tables, (0.1, 0.01), strict=True)]
    optimizer = kind(groups, betas=(0.8, 0.95), eps=1e-6)  # type: ignore[call-arg]
    for step in range(12):
        optimizer.zero_grad()
        rows = torch.randint(50, (9,))  # with repetitions: the gradient is not coalesced
        loss = wide(rows).square().sum()
        if step % 3:  # else the narrow table has no gradient
            loss = loss + (narrow(rows) * wide(rows)).sum()
        loss.backward()
        optimizer.step()
        if step == 6:
            state = optimizer.state_dict()
            optimizer = kind(groups, betas=(0.8, 0.95), eps=1e-6)  # type: ignore[call-arg]
            optimizer.load_state_dict(state)
    moments = [optimizer.state[table][name] for table in tables for name in ("exp_avg", "exp_avg_sq")]
    return tuple(tensor.detach() for tensor in (*tables, *moments))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_as_torchs_own(dtype: torch.dtype) -> None:
    for ours, own in zip(stepped(SparseAdam, dtype), stepped(torch.optim.SparseAdam, dtype), strict=True):
        torch.testing.assert_close(ours, own, rtol=1e-6, atol=1e-7)


def test_the_kernel_takes_tables_of_fp32_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    kernel = sparse_adam._kernel()
    monkeypatch.setattr(sparse_adam, "_kernel", lambda: lambda *arrays: (used.append(1), kernel(*arrays)))
    stepped(SparseAdam, torch.float64)
    assert not used
    stepped(SparseAdam, torch.float32)
    assert len(used) == 12 + 8  # the narrow table has a gradient in two steps of three


def test_a_dense_gradient_is_refused_as_by_torch() -> None:
    table = nn.Embedding(3, 2)
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        SparseAdam(table.parameters()).step()


def test_a_gradient_without_rows_changes_nothing() -> None:
    table = nn.Embedding(4, 2, sparse=True)
    before = table.weight.detach().clone()
    optimizer = SparseAdam(table.parameters(), lr=0.5)
    none = torch.zeros(1, 0, dtype=torch.int64)
    table.weight.grad = torch.sparse_coo_tensor(none, torch.zeros(0, 2), (4, 2))
    optimizer.step()
    assert torch.equal(table.weight, before)
