"""Steps whose examples have losses of their own: the gradients of the pieces are added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cocite.training.engine.backends.base import Backend, Work
from cocite.training.engine.batches import Piece
from cocite.training.engine.contrastive import wide
from cocite.training.engine.task import TrainTask
from cocite.training.engine.world import World


def accumulated_step(
    task: TrainTask[Any],
    backend: Backend,
    world: World,
    batches: Sequence[Any],
    pieces: Sequence[Piece],
    size: int,
    seed: Callable[[int], None],
) -> Tensor:
    """Add the gradient of a step's mean loss to the weights.

    Args:
        task: has the losses.
        backend: computes gradients.
        world: the ranks that share the step.
        batches: this rank's batches, one for each of its pieces.
        pieces: of this rank.
        size: examples of the step, of all ranks together.
        seed: sets the random numbers of a piece, by its number.

    Returns:
        the mean loss over the step's examples, the same on every rank.

    Raises:
        ValueError: a batch has another number of losses than of examples.
    """
    total = torch.zeros((), device=world.device)
    for number, (batch, piece) in enumerate(zip(batches, pieces, strict=True)):
        seed(number)
        # The backend averages over ranks, so that each example ends with a weight of 1 / size.
        weight = world.size / size if piece.counted else 0.0
        work = _weighted(task, batch, len(piece.examples), weight)
        total += backend.backward(work, last=number + 1 == len(pieces))
    return world.sum(total) / world.size


def _weighted(task: TrainTask[Any], batch: Any, count: int, weight: float) -> Work:
    def work(model: nn.Module) -> Tensor:
        losses = task.loss(model, batch)
        if losses.shape != (count,):
            raise ValueError(f"a batch of {count} examples has losses of shape {tuple(losses.shape)}")
        return wide(losses).sum() * weight

    return work
