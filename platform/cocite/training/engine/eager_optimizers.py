"""torch's optimizers without torch's compiler, whose import takes two seconds in each process that trains.

torch imports it as soon as an optimizer is made or steps, only to keep its compiler from tracing some of the
optimizer's methods. No optimizer is compiled here, so these classes call the methods themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

_ADD = inspect.unwrap(Optimizer.add_param_group)
_ZERO = inspect.unwrap(Optimizer.zero_grad)
_STATE = inspect.unwrap(Optimizer.state_dict)
_LOAD = inspect.unwrap(Optimizer.load_state_dict)
_ADAM = inspect.unwrap(torch.optim.Adam.step)
_NADAM = inspect.unwrap(torch.optim.NAdam.step)
_SPARSE = inspect.unwrap(torch.optim.SparseAdam.step)


class _Eager(Optimizer):
    """The methods that torch keeps its compiler from."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        _ADD(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        _ZERO(self, set_to_none)

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = _STATE(self)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        _LOAD(self, state_dict)


class AdamW(_Eager, torch.optim.AdamW):
    """:class:`torch.optim.AdamW`.

    Example:
        >>> weight = torch.ones(1, requires_grad=True)
        >>> optimizer = AdamW([weight], lr=0.5, weight_decay=0.0)
        >>> weight.backward()
        >>> optimizer.step()
        >>> round(weight.item(), 6)
        0.5
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """See :meth:`torch.optim.AdamW.step`."""
        return _ADAM(self, closure)


class NAdam(_Eager, torch.optim.NAdam):
    """:class:`torch.optim.NAdam`.

    Example:
        >>> weight = torch.ones(1, requires_grad=True)
        >>> optimizer = NAdam([weight], lr=0.5, decoupled_weight_decay=True)
        >>> weight.backward()
        >>> optimizer.step()
        >>> bool(weight < 0.5)
        True
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """See :meth:`torch.optim.NAdam.step`."""
        return _NADAM(self, closure)

    @staticmethod
    def momentum_product(group: Mapping[str, Any], steps: int) -> Tensor:
        """The product of the momenta of some steps, which the state of each parameter of a group holds.

        It is a function of the number of steps, so a checkpoint does not keep it. It is 0 after a few hundred.
        """
        product = torch.ones(())
        for step in range(1, steps + 1):
            product *= group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
            if not product:
                break
        return product


class SparseAdam(_Eager, torch.optim.SparseAdam):
    """:class:`torch.optim.SparseAdam`.

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
        return _SPARSE(self, closure)
