"""Plain PyTorch in one process, and DistributedDataParallel over several."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from cocite.training.engine.backends.base import (
    MOMENTS,
    Slots,
    Work,
    adamw,
    autocast,
    buffers_of,
    prepare,
    touching,
)
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World


class Running(nn.Module):
    """A module whose forward pass is any computation with the model.

    Wrappers such as DistributedDataParallel take one forward pass to be one step: with this around the model, a loss
    may call the model, or parts of it, as often as it likes.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, work: Work) -> Tensor:
        """What ``work`` makes of the model."""
        return work(self.model)


class TorchBackend:
    """fp32 weights; bf16 is autocast. More than one process: DistributedDataParallel."""

    def __init__(self, model: nn.Module, settings: TrainingSettings, world: World) -> None:
        self.settings, self.world = settings, world
        self.model = prepare(model.to(world.device), settings).train()
        self.optimizer = adamw(self.model, settings.optimizer)
        self.clip = settings.optimizer.clip or torch.inf
        self.running: nn.Module = Running(self.model)
        if world.size > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # newer versions of torch rename the option
                self.running = DistributedDataParallel(self.running, broadcast_buffers=False)

    def forward(self, work: Work) -> Tensor:
        """See :class:`Backend`."""
        with torch.no_grad(), autocast(self.settings, self.world.device):
            return work(self.model)

    def backward(self, work: Work, *, last: bool) -> Tensor:
        """See :class:`Backend`."""
        exchange = last and self.world.size > 1

        def whole_work(model: nn.Module) -> Tensor:
            loss = work(model)
            return touching(loss, model.parameters()) if exchange or not loss.requires_grad else loss

        ddp = self.running
        alone = ddp.no_sync() if isinstance(ddp, DistributedDataParallel) and not last else nullcontext()
        with alone:
            with autocast(self.settings, self.world.device):
                loss: Tensor = ddp(whole_work)
            torch.autograd.backward(loss)
        return loss.detach()

    def step(self, rate: float) -> float:
        """See :class:`Backend`."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
            for parameter in group["params"]:
                if (
                    parameter.grad is None
                ):  # every parameter is stepped, as under ZeRO: one step count for all
                    parameter.grad = torch.zeros_like(parameter)
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        norm = float(nn.utils.clip_grad_norm_(parameters, self.clip))
        if math.isfinite(norm):
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    @contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """See :class:`Backend`."""
        self.model.eval()
        self.model._compiled_call_impl = None
        try:
            with torch.no_grad(), autocast(self.settings, self.world.device):
                yield self.model
        finally:
            self.model.train()

    def slots(self, *, moments: bool) -> Iterator[tuple[str, Slots]]:
        """See :class:`Backend`."""
        for name, parameter in self.model.named_parameters():
            state = self.optimizer.state.get(parameter, {}) if moments else {}
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
                self.optimizer.state[parameter] = {
                    "step": torch.tensor(float(step), device=parameter.device),
                    **{key: slots[key].to(parameter.device, copy=True) for key in MOMENTS},
                }

    def close(self) -> None:
        """See :class:`Backend`."""
        self.model.eval()
        self.model._compiled_call_impl = None
