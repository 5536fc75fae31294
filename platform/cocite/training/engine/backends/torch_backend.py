"""Plain PyTorch in one process, and DistributedDataParallel over several."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from cocite.training.engine.backends.base import (
    MOMENTS,
    Slots,
    Work,
    autocast,
    buffers_of,
    prepare,
    touching,
)
from cocite.training.engine.eager_optimizers import NAdam
from cocite.training.engine.optimizers import (
    RATE_SHARE,
    ParameterGroup,
    clip_gradients,
    make_optimizers,
    sparse_names,
)
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World


class Running(nn.Module):
    """A module whose forward pass is any computation with the model.

    Wrappers such as DistributedDataParallel take one forward pass to be one step: with this around the model, a loss
    may call the model, or parts of it, as often as it likes.

    Example:
        >>> Running(nn.Linear(2, 3))(lambda model: model(torch.ones(4, 2)).shape)
        torch.Size([4, 3])
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, work: Work) -> Tensor:
        """The result of ``work`` with the model."""
        return work(self.model)


class TorchBackend:
    """fp32 weights; bf16 is autocast. More than one process: DistributedDataParallel.

    DistributedDataParallel exchanges dense gradients. Those of tables with sparse gradients stay on their rank until
    the step, which gathers their rows from all ranks: as many as the batches used, not as many as the table has.

    Example:
        >>> model = nn.Linear(2, 1)
        >>> backend = TorchBackend(model, TrainingSettings(), World())
        >>> before = model.weight.detach().clone()
        >>> loss = backend.backward(lambda running: running(torch.ones(3, 2)).square().sum(), last=True)
        >>> backend.step(rate=0.1) > 0, bool((model.weight != before).all())
        (True, True)
    """

    def __init__(
        self,
        model: nn.Module,
        settings: TrainingSettings,
        world: World,
        groups: Sequence[ParameterGroup] = (),
    ) -> None:
        self.settings, self.world = settings, world
        self.model = prepare(model.to(world.device), settings).train()
        self.optimizers = make_optimizers(self.model, settings.optimizer, groups)
        self.optimizer_of = {
            parameter: optimizer
            for optimizer in self.optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        self.clip = settings.optimizer.clip or torch.inf
        sparse = sparse_names(groups)
        named = list(self.model.named_parameters())
        self.dense = [parameter for name, parameter in named if name not in sparse]
        self.tables = [parameter for name, parameter in named if name in sparse and parameter.requires_grad]
        self.running: nn.Module = Running(self.model)
        if world.size > 1:
            # DDP would exchange whole tables: ``_gather_rows`` exchanges the rows that were touched.
            DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(  # type: ignore[no-untyped-call]
                self.running, [f"model.{name}" for name in sparse]
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # newer versions of torch rename the option
                self.running = _data_parallel(self.running)

    def forward(self, work: Work) -> Tensor:
        """See :class:`Backend`."""
        with torch.no_grad(), autocast(self.settings, self.world.device):
            return work(self.model)

    def backward(self, work: Work, *, last: bool) -> Tensor:
        """See :class:`Backend`."""
        exchange = last and self.world.size > 1

        def whole_work(model: nn.Module) -> Tensor:
            loss = work(model)
            # DDP waits for a gradient of every parameter, and a pass without any gradient could not run backward.
            return touching(loss, self.dense) if exchange or not loss.requires_grad else loss

        ddp = self.running
        # The exchange waits for the step's last pass, and then has the sum of all.
        alone = ddp.no_sync() if isinstance(ddp, DistributedDataParallel) and not last else nullcontext()
        with alone:
            with autocast(self.settings, self.world.device):
                loss: Tensor = ddp(whole_work)
            torch.autograd.backward(loss)
        return loss.detach()

    def step(self, rate: float) -> float:
        """See :class:`Backend`."""
        self._gather_rows()
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * group[RATE_SHARE]
        for parameter in self.dense:
            # Every parameter is stepped, as under ZeRO: one step count for all.
            if parameter.requires_grad and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        norm = clip_gradients(self.optimizer_of, self.clip)
        # The caller raises at such a norm; the weights stay as they were until then.
        if math.isfinite(norm):
            for optimizer in self.optimizers:
                optimizer.step()
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        return norm

    def _gather_rows(self) -> None:
        """Give each table on every rank the mean of all ranks' sparse gradients; an empty one where no rank has any."""
        for table in self.tables:
            if table.grad is None:
                # SparseAdam leaves out a parameter without gradient, on this rank alone, and the exchange waits for
                # all ranks.
                none = torch.zeros(1, 0, dtype=torch.int64, device=table.device)
                table.grad = _sparse(none, table.new_zeros(0, *table.shape[1:]), table.shape)
            gradient = table.grad.coalesce()
            if self.world.size > 1:
                rows = self.world.concatenate(gradient.indices().T).T
                values = self.world.concatenate(gradient.values()) / self.world.size
                gradient = _sparse(rows, values, table.shape).coalesce()
            table.grad = gradient

    @contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """See :class:`Backend`."""
        self.model.eval()
        # Evaluation calls other methods with other shapes, which would be compiled anew; training goes on compiled.
        compiled, self.model._compiled_call_impl = self.model._compiled_call_impl, None
        try:
            with torch.no_grad(), autocast(self.settings, self.world.device):
                yield self.model
        finally:
            self.model._compiled_call_impl = compiled
            self.model.train()

    def slots(self, *, moments: bool) -> Iterator[tuple[str, Slots]]:
        """See :class:`Backend`."""
        for name, parameter in self.model.named_parameters():
            state = self._state(parameter) if moments else {}
            yield name, {"weight": parameter.detach()} | {key: state[key] for key in MOMENTS if key in state}

    def buffers(self) -> Iterator[tuple[str, Tensor]]:
        """See :class:`Backend`."""
        return buffers_of(self.model)

    def restore(self, read: Callable[[str], Slots], step: int) -> None:
        """See :class:`Backend`."""
        for name, parameter in self.model.named_parameters():
            slots = read(name)
            with torch.no_grad():
                parameter.copy_(slots["weight"])
            if all(key in slots for key in MOMENTS):
                self._state(parameter).update(
                    step=torch.tensor(float(step), device=parameter.device),
                    **{key: slots[key].to(parameter.device, copy=True) for key in MOMENTS},
                )
        for table in self.tables:
            if state := self._state(table):
                state["step"] = step  # SparseAdam counts in Python
        for optimizer in self.optimizers:
            if isinstance(optimizer, NAdam):
                for group in optimizer.param_groups:
                    product = optimizer.momentum_product(group, step)
                    for parameter in group["params"]:
                        if state := optimizer.state[parameter]:
                            state["mu_product"] = product.to(parameter.device, copy=True)

    def _state(self, parameter: nn.Parameter) -> dict[str, Any]:
        """The optimizer's state of a parameter: empty before its first step, and where it is not trained."""
        optimizer = self.optimizer_of.get(parameter)
        return {} if optimizer is None else optimizer.state[parameter]

    def close(self) -> None:
        """See :class:`Backend`."""
        self.model.eval()
        self.model._compiled_call_impl = None


def _sparse(rows: Tensor, values: Tensor, shape: torch.Size) -> Tensor:
    """A tensor whose rows (1, n) have the values (n, ...), and the others 0."""
    return torch.sparse_coo_tensor(rows, values, shape, check_invariants=False)


def _data_parallel(model: nn.Module) -> nn.Module:
    """DistributedDataParallel, without the import of torch's compiler, which takes two seconds in each process.

    It imports the compiler to read one of its settings, and to keep it from tracing a part of the forward pass. Only
    what is below is ever compiled here, so that the setting is the default, and nothing has to be kept from it.
    """
    if "torch._dynamo" not in sys.modules:
        inside = inspect.unwrap(DistributedDataParallel._inside_ddp_forward)
        inside.__dict__.setdefault(
            "__dynamo_disable", inside
        )  # what torch keeps there once it has imported it
        settings = SimpleNamespace(get_optimize_ddp_mode=lambda: "ddp_optimizer")
        torch.__dict__["_dynamo"] = SimpleNamespace(utils=settings)
        try:
            return DistributedDataParallel(model, broadcast_buffers=False)
        except AttributeError:
            pass  # another version of torch, which reads more of the compiler
        finally:
            del torch.__dict__["_dynamo"]
    return DistributedDataParallel(model, broadcast_buffers=False)
