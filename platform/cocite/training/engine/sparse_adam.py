"""Adam for tables of which a step changes a few rows (the paper's LazyAdam), in one pass over those rows on a CPU.

torch's :class:`torch.optim.SparseAdam` makes a dozen temporary arrays of the size of the gradient, and masks and adds
sparse tensors five times: two thirds of a step of NNSelect were spent on memory that is read once.
"""

# Without annotations: Numba infers the types, and mypy does not read what it compiles.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cocite.training.engine.eager_optimizers import SparseAdam as ByTorch


class SparseAdam(ByTorch):
    """:class:`torch.optim.SparseAdam`: the same numbers, and for contiguous tables of fp32 on a CPU in one pass.

    Example:
        >>> table = torch.nn.Embedding(3, 1, sparse=True)
        >>> before = table.weight.detach().clone()
        >>> optimizer = SparseAdam(table.parameters(), lr=0.5)
        >>> table(torch.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> [round(change, 6) for change in (before - table.weight).flatten().tolist()]
        [0.0, 0.5, 0.0]
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """See :meth:`torch.optim.SparseAdam.step`."""
        tables = [parameter for group in self.param_groups for parameter in group["params"]]
        if closure is not None or not all(_is_plain(table) for table in tables):
            return super().step(closure)
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._update(table, group)
        return None

    def _update(self, table: Tensor, group: dict[str, Any]) -> None:
        """Change the rows of a table that have a gradient, and their moments."""
        assert table.grad is not None
        state, gradient = self.state[table], table.grad.coalesce()
        if not state:
            state.update(step=0, exp_avg=torch.zeros_like(table), exp_avg_sq=torch.zeros_like(table))
        state["step"] += 1
        first, second = group["betas"]
        unbias = (1 - second ** state["step"]) ** 0.5 / (1 - first ** state["step"])
        _kernel()(
            *(_rows(array) for array in (table, state["exp_avg"], state["exp_avg_sq"])),
            gradient.indices()[0].numpy(),
            _rows(gradient.values().contiguous()),
            # As torch rounds the settings: computed in fp64, used in fp32.
            *map(np.float32, (1 - first, 1 - second, float(group["lr"]) * unbias, group["eps"])),
        )


def _is_plain(table: Tensor) -> bool:
    """Whether the kernel can change a table: the gradient's rows are those of a contiguous array in this memory."""
    gradient = table.grad
    return gradient is None or (
        gradient.is_sparse
        and gradient.sparse_dim() == 1
        and table.device.type == "cpu"
        and table.dtype == gradient.dtype == torch.float32
        and table.is_contiguous()
    )


def _rows(table: Tensor) -> Any:
    """(V, d) a table's own memory."""
    return table.detach().flatten(1).numpy()


@cache
def _kernel() -> Any:
    """The update of some rows; compiled, or read from Numba's cache, when it is first needed."""
    from cocite.compiled import compiled

    return compiled(_update_rows)


def _update_rows(weights, means, squares, rows, gradients, mean_share, square_share, rate, epsilon):
    """Adam's update (Kingma and Ba, Algorithm 1) of some rows; ``rate`` has the bias corrections."""
    for position in range(len(rows)):
        row = rows[position]
        for column in range(weights.shape[1]):
            gradient = gradients[position, column]
            mean = means[row, column]
            mean += (gradient - mean) * mean_share
            square = squares[row, column]
            square += (gradient * gradient - square) * square_share
            means[row, column] = mean
            squares[row, column] = square
            weights[row, column] -= rate * (mean / (np.sqrt(square) + epsilon))
