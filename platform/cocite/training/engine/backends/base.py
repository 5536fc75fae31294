"""The interface between the training loop and the backends, which compute gradients and take steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import torch
from torch import Tensor, nn

from cocite.errors import ConfigError
from cocite.training.engine.settings import TrainingSettings

Work = Callable[[nn.Module], Tensor]
"""A computation with the trained module, called by the backend where it can gather weights and synchronise."""
Slots = Mapping[str, Tensor]
"""What is kept of a parameter: ``weight``, and with it AdamW's ``exp_avg`` and ``exp_avg_sq``."""

MOMENTS = ("exp_avg", "exp_avg_sq")


class Backend(Protocol):
    """One process's part in training a model, together with the others'.

    Gradients are those of the mean over ranks of what each rank's :meth:`backward` calls return in sum.

    Example:
        >>> from cocite.training.engine.backends.torch_backend import TorchBackend
        >>> from cocite.training.engine.world import World
        >>> backend: Backend = TorchBackend(nn.Linear(2, 1), TrainingSettings(), World())
        >>> float(backend.backward(lambda model: model(torch.ones(3, 2)).square().sum() * 0, last=True))
        0.0
        >>> backend.step(rate=0.1)  # the norm of the gradient
        0.0
    """

    def forward(self, work: Work) -> Tensor:
        """Run ``work`` in training mode, without gradients."""
        ...

    def backward(self, work: Work, *, last: bool) -> Tensor:
        """Run ``work``, which returns a scalar, and add its gradient to the step's.

        Every rank must call this equally often in a step.

        Args:
            work: returns a scalar.
            last: whether this is the step's last; gradients need not be exchanged before.

        Returns:
            the scalar, detached.
        """
        ...

    def step(self, rate: float) -> float:
        """Clip, step, and clear the gradients.

        Args:
            rate: the learning rate.

        Returns:
            the norm of the whole gradient before clipping.
        """
        ...

    def whole(self) -> AbstractContextManager[nn.Module]:
        """The model with all present weights on this rank, in evaluation mode and without gradients.

        Entered by all ranks together; within, each may run as many forward passes as it likes.
        """
        ...

    def slots(self, *, moments: bool) -> Iterator[tuple[str, Slots]]:
        """Each parameter in the model's order, in fp32, whole, on the device. All ranks iterate together.

        Args:
            moments: whether AdamW's moments are wanted too, of those parameters that have been stepped.
        """
        ...

    def buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The tensors that the model keeps beside its parameters."""
        ...

    def restore(self, read: Callable[[str], Slots], step: int) -> None:
        """Take weights and moments back.

        Args:
            read: slots of a parameter by its name.
            step: optimizer steps that were taken.
        """
        ...

    def close(self) -> None:
        """Give the model given at first all present weights, and let go of everything else."""
        ...


def buffers_of(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a model keeps (and would save) beside its parameters."""
    # Buffers that are not persistent are computed anew when the model is made.
    saved = model.state_dict().keys()
    return ((name, buffer) for name, buffer in model.named_buffers() if name in saved)


def left_out(loss: Tensor, parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    """The trained parameters among some that a loss does not depend on."""
    reached: set[int] = set()
    seen: set[object] = set()
    stack = [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        reached.add(id(getattr(node, "variable", None)))  # the leaves of the graph hold their parameter
        stack.extend(following for following, _ in node.next_functions)
    return [p for p in parameters if p.requires_grad and id(p) not in reached]


def touching(loss: Tensor, parameters: Iterable[nn.Parameter]) -> Tensor:
    """A loss that also depends on the parameters it leaves out, with a gradient of 0.

    Ranks exchange the gradient of every parameter that has one, so all must have one for the same parameters, though
    their batches may not use the same (a head that is left out, a word type that does not occur).
    """
    # One element is enough to put a parameter into the graph; a sum over all would read every weight.
    missing = [parameter.reshape(-1)[:1].sum() for parameter in left_out(loss, parameters)]
    return loss + 0.0 * torch.stack(missing).sum() if missing else loss


def prepare(model: nn.Module, settings: TrainingSettings) -> nn.Module:
    """Switch on what the settings ask of the model itself: gradient checkpointing, compilation."""
    if settings.gradient_checkpointing:
        enable = getattr(model, "gradient_checkpointing_enable", None)
        if enable is None:
            raise ConfigError(
                f"{type(model).__name__} has no gradient checkpointing",
                where="training.gradient_checkpointing",
                hint="set it to false",
            )
        enable()
    if settings.compile:
        # Packed batches differ in size each time: without dynamic shapes each size would be compiled.
        model.compile(dynamic=True)
    return model


def autocast(settings: TrainingSettings, device: torch.device) -> AbstractContextManager[object]:
    """The context in which forward passes run: bf16 where the settings say so."""
    if settings.precision == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()
