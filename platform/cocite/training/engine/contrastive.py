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
from cocite.training.engine.task import ContrastiveTask, Examples, PenalizedVectors
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
    # All vectors come from one pass: caching their gradients would only run that pass twice.
    if world.size == 1 and len(batches) == 1:
        seed(0)
        return backend.backward(_direct(task, batches[0], pieces, epoch), last=True)
    mine = shares[world.rank]
    # The loss is a mean over the step's examples; a piece's penalty counts once for each of its examples.
    size = sum(map(len, pieces))
    weights = [len(piece.examples) / size if piece.counted else 0.0 for piece in mine]
    rows: list[Tensor] = []
    penalty = torch.zeros((), device=world.device)
    for number, (batch, piece) in enumerate(zip(batches, mine, strict=True)):
        seed(number)
        penalties: list[Tensor] = []
        embedded = backend.forward(_embedding(task, batch, penalties))
        # A stand-in runs with the others, and its vectors must not become negatives.
        rows.append(embedded if piece.counted else embedded[:0])
        penalty = penalty + weights[number] * penalties[0]
    vectors = world.concatenate(torch.cat(rows)).requires_grad_()
    with torch.enable_grad():
        loss = task.contrast(vectors, pieces, epoch).mean()
    # The gradient stops at the vectors here; the second passes below carry it into the weights.
    (gradient,) = torch.autograd.grad(loss, vectors)
    before = int(
        world.concatenate(torch.tensor([sum(map(len, rows))], device=vectors.device))[: world.rank].sum()
    )
    for number, (batch, part) in enumerate(zip(batches, rows, strict=True)):
        # The same random numbers as in the first pass: with another dropout the vectors would not be those of the
        # loss.
        seed(number)
        slope = gradient[before : before + len(part)]
        before += len(part)
        # The backend averages over ranks; the gradient at the weights is the sum of what all pieces carry.
        carried = _carry(task, batch, slope * world.size, weights[number] * world.size)
        backend.backward(carried, last=number + 1 == len(batches))
    return loss.detach() + world.sum(penalty)


def _embedded(task: ContrastiveTask[Any], model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
    """The vectors of a piece and its penalty; half precision is widened, for the loss sets many vectors against one
    another."""
    embedded = task.embed(model, batch)
    if isinstance(embedded, PenalizedVectors):
        return wide(embedded.vectors), wide(embedded.penalty)
    return wide(embedded), torch.zeros((), device=embedded.device)


def _direct(task: ContrastiveTask[Any], batch: Any, pieces: Sequence[Examples], epoch: int) -> Work:
    """The mean loss of a step that is one piece."""

    def work(model: nn.Module) -> Tensor:
        vectors, penalty = _embedded(task, model, batch)
        with torch.autocast(vectors.device.type, enabled=False):  # as where the vectors are gathered first
            return task.contrast(vectors, pieces, epoch).mean() + penalty

    return work


def _embedding(task: ContrastiveTask[Any], batch: Any, penalties: list[Tensor]) -> Work:
    """The vectors of a piece, whose penalty is added to a list."""

    def work(model: nn.Module) -> Tensor:
        vectors, penalty = _embedded(task, model, batch)
        penalties.append(penalty)
        return vectors

    return work


def _carry(task: ContrastiveTask[Any], batch: Any, slope: Tensor, weight: float) -> Work:
    """A scalar whose gradient is that of the loss, as far as it goes through this piece.

    Args:
        task: embeds the piece.
        batch: the piece.
        slope: (r, d) gradient of the loss at the piece's vectors; no rows for a stand-in.
        weight: of the piece's penalty.
    """

    def work(model: nn.Module) -> Tensor:
        vectors, penalty = _embedded(task, model, batch)
        if not len(slope):  # a stand-in: touches all weights, moves none
            return (vectors.sum() + penalty) * 0
        return (vectors * slope).sum() + weight * penalty

    return work


def wide(vectors: Tensor) -> Tensor:
    """A tensor in at least single precision."""
    return vectors.float() if vectors.dtype in (torch.bfloat16, torch.float16) else vectors
