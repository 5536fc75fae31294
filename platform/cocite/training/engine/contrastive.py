"""Contrastive steps as large as one likes: cached gradients.

Gao, Zhang, Han, Callan, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (2021), Section 3:
the gradient of a loss over all vectors of a batch goes through the vectors, so it can be taken there once, and be
carried into the weights piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cocite.training.engine.backends.base import Backend, Work
from cocite.training.engine.batches import Piece
from cocite.training.engine.task import ContrastiveTask, Examples
from cocite.training.engine.world import World


def contrastive_step(
    task: ContrastiveTask[Any],
    backend: Backend,
    world: World,
    batches: Sequence[Any],
    shares: Sequence[Sequence[Piece]],
    epoch: int,
    seed: Callable[[int], None],
) -> Tensor:
    """Add the gradient of a step's mean loss to the weights.

    Args:
        task: embeds pieces and contrasts vectors.
        backend: computes gradients.
        world: the ranks that share the step.
        batches: this rank's batches, one for each of its pieces.
        shares: the pieces of every rank.
        epoch: the epoch they belong to.
        seed: sets the random numbers of a piece, by its number: both passes over it must draw the same.

    Returns:
        the mean loss over the step's examples, the same on every rank.
    """
    pieces = [piece.examples for share in shares for piece in share if piece.counted]
    if world.size == 1 and len(batches) == 1:
        seed(0)
        return backend.backward(_direct(task, batches[0], pieces, epoch), last=True)
    mine = shares[world.rank]
    rows = []
    for number, (batch, piece) in enumerate(zip(batches, mine, strict=True)):
        seed(number)
        embedded = backend.forward(_embedding(task, batch))
        rows.append(embedded if piece.counted else embedded[:0])
    vectors = world.concatenate(torch.cat(rows)).requires_grad_()
    with torch.enable_grad():
        loss = task.contrast(vectors, pieces, epoch).mean()
    (gradient,) = torch.autograd.grad(loss, vectors)
    before = int(
        world.concatenate(torch.tensor([sum(map(len, rows))], device=vectors.device))[: world.rank].sum()
    )
    for number, (batch, part) in enumerate(zip(batches, rows, strict=True)):
        seed(number)
        slope = gradient[before : before + len(part)]
        before += len(part)
        # The backend averages over ranks; the gradient at the weights is the sum of what all pieces carry.
        backend.backward(_carry(task, batch, slope * world.size), last=number + 1 == len(batches))
    return loss.detach()


def _direct(task: ContrastiveTask[Any], batch: Any, pieces: Sequence[Examples], epoch: int) -> Work:
    """The mean loss of a step that is one piece."""

    def work(model: nn.Module) -> Tensor:
        vectors = wide(task.embed(model, batch))
        with torch.autocast(vectors.device.type, enabled=False):  # as where the vectors are gathered first
            return task.contrast(vectors, pieces, epoch).mean()

    return work


def _embedding(task: ContrastiveTask[Any], batch: Any) -> Work:
    """The vectors of a piece; half precision is widened, for the loss sets many of them against one another."""
    return lambda model: wide(task.embed(model, batch))


def _carry(task: ContrastiveTask[Any], batch: Any, slope: Tensor) -> Work:
    """A scalar whose gradient is that of the loss, as far as it goes through this piece."""

    def work(model: nn.Module) -> Tensor:
        vectors = wide(task.embed(model, batch))
        if not len(slope):  # a stand-in: touches all weights, moves none
            return vectors.sum() * 0
        return (vectors * slope).sum()

    return work


def wide(vectors: Tensor) -> Tensor:
    """A tensor in at least single precision."""
    return vectors.float() if vectors.dtype in (torch.bfloat16, torch.float16) else vectors
