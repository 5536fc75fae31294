from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from helpers.bag_task import BagTask, settings
from helpers.many_processes import together
from torch import Tensor, nn

from cocite.training.engine.backends import make_backend
from cocite.training.engine.batches import EpochPlan
from cocite.training.engine.contrastive import contrastive_step
from cocite.training.engine.loop import train
from cocite.training.engine.task import ContrastiveTask, PenalizedVectors
from cocite.training.engine.world import World

# A batch of 12 in passes of at most 25 tokens; a second step of 5, so that some ranks have stand-ins.
SETTINGS: dict[str, Any] = {
    "epochs": 1,
    "batch": 12,
    "tokens": 25,
    "optimizer": {"learning_rate": 0.01, "clip": 0.0},
}


class PairTask(BagTask):
    """Tell each text's first half from the others' second halves."""

    def __init__(self, chosen, *, examples: int = 29, dropout: float = 0.3, double: bool = False) -> None:
        super().__init__(chosen, examples=examples, dropout=dropout)
        self.model.out = nn.Linear(7, 4)
        self.model.scale = torch.ones(1)
        if double:
            self.model.double()

    def embed(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        mask = batch["mask"].to(model.norm.weight.dtype)
        first = (torch.arange(mask.shape[1]) % 2 == 0).to(mask.dtype)
        queries = model(batch["tokens"], mask * (first + 0.1))
        candidates = model(batch["tokens"], mask * (1.1 - first))
        return torch.cat([queries, candidates])  # (2b, 4)

    def contrast(self, vectors: Tensor, pieces: Sequence[Any], epoch: int) -> Tensor:
        sizes = [len(piece) for piece in pieces]
        parts = vectors.split([2 * size for size in sizes])
        queries = torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])
        candidates = torch.cat([part[size:] for part, size in zip(parts, sizes, strict=True)])
        scores = queries @ candidates.T
        weight = 1 + torch.from_numpy(np.concatenate(pieces)) % 3  # each example has a loss of its own
        return nn.functional.cross_entropy(scores, torch.arange(len(scores)), reduction="none") * weight

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        return {"fit": 0.0}


def gradients(world: World, tokens: int, dropout: float, double: bool) -> tuple[float, dict[str, Any]]:
    """Loss and gradients of the second, smaller step."""
    chosen = settings(**(SETTINGS | {"tokens": tokens, "backend": "ddp" if world.size > 1 else "plain"}))
    task = PairTask(chosen, dropout=dropout, double=double)
    plan = EpochPlan(task.lengths(0), chosen, 0)
    backend = make_backend(task.model, chosen, world)
    position = plan.steps - 1
    shares = plan.pieces(position, world.size)
    batches = [task.collate(piece.examples, 0) for piece in shares[world.rank]]
    loss = contrastive_step(
        task, backend, world, batches, shares, 0, lambda number: torch.manual_seed(number)
    )
    found = {n: p.grad.clone().numpy() for n, p in task.model.named_parameters() if p.grad is not None}
    return float(loss), {n: g for n, g in found.items() if not n.startswith("spare")}


def assert_near(one: tuple[float, Any], other: tuple[float, Any], rtol: float) -> None:
    assert one[0] == pytest.approx(other[0], rel=rtol)
    assert one[1].keys() == other[1].keys()
    for name, gradient in one[1].items():
        np.testing.assert_allclose(gradient, other[1][name], rtol=rtol, atol=rtol * abs(gradient).max())


def test_a_task_that_embeds_and_contrasts_is_recognised() -> None:
    assert isinstance(PairTask(settings()), ContrastiveTask)
    assert not isinstance(BagTask(settings()), ContrastiveTask)


@pytest.mark.parametrize(("double", "rtol"), [(True, 1e-10), (False, 1e-5)])
def test_gradients_are_those_of_the_whole_batch_at_once(double: bool, rtol: float) -> None:
    whole = gradients(World(), 10_000, 0.0, double)
    for tokens in (1, 12, 25):
        assert_near(whole, gradients(World(), tokens, 0.0, double), rtol)


def test_both_passes_over_a_piece_draw_the_same_dropout() -> None:
    """The gradient is that of the loss with each piece's own dropout, taken through all pieces at once."""
    chosen = settings(**SETTINGS)
    task = PairTask(chosen, double=True)
    shares = EpochPlan(task.lengths(0), chosen, 0).pieces(0, 1)
    assert len(shares[0]) > 1
    parts = []
    task.model.train()
    for number, piece in enumerate(shares[0]):
        torch.manual_seed(number)
        parts.append(task.embed(task.model, task.collate(piece.examples, 0)))
    loss = task.contrast(torch.cat(parts), [piece.examples for piece in shares[0]], 0).mean()
    loss.backward()
    direct = {n: p.grad.clone() for n, p in task.model.named_parameters() if p.grad is not None}
    task.model.zero_grad()
    batches = [task.collate(piece.examples, 0) for piece in shares[0]]
    backend = make_backend(task.model, chosen, World())
    cached = contrastive_step(task, backend, World(), batches, shares, 0, lambda n: torch.manual_seed(n))
    assert float(cached) == pytest.approx(loss.item(), rel=1e-12)
    for name, parameter in task.model.named_parameters():
        if name in direct:
            torch.testing.assert_close(parameter.grad, direct[name], rtol=1e-10, atol=1e-12)


def losses(world: World, **changes: Any) -> list[float]:
    chosen = settings(**(SETTINGS | changes))
    task = PairTask(chosen, dropout=0.0)
    logged: list[float] = []
    train(task, chosen, world=world, log=lambda m, step: logged.append(m["loss"]) if "loss" in m else None)
    return logged


def in_many(world: World) -> tuple[list[Any], list[Any]]:
    at_once = [gradients(world, tokens, 0.0, double) for tokens in (1, 25) for double in (True, False)]
    curves = [losses(world, backend="ddp")]
    curves += [losses(world, backend="deepspeed", zero=stage) for stage in (2, 3)]
    return at_once, curves


@pytest.mark.integration
def test_two_processes_find_the_same_gradients_and_losses() -> None:
    straight = losses(World())
    assert len(straight) == 3
    (first, curves), (second, _) = together(in_many)
    for (double, rtol), one, two in zip([(True, 1e-10), (False, 1e-5)] * 2, first, second, strict=True):
        whole = gradients(World(), 10_000, 0.0, double)
        assert_near(whole, one, rtol)
        assert_near(whole, two, rtol)
    for curve in curves:
        np.testing.assert_allclose(curve, straight if curve else None, rtol=1e-5)


class PenalizedTask(PairTask):
    """Each piece's loss has a part that does not go through its vectors: the same for all pieces."""

    def embed(self, model: nn.Module, batch: dict[str, Tensor]) -> PenalizedVectors:
        return PenalizedVectors(super().embed(model, batch), 0.1 * model.words.weight.square().sum())


def penalized(tokens: int) -> tuple[float, Tensor]:
    chosen = settings(**(SETTINGS | {"tokens": tokens}))
    task = PenalizedTask(chosen, dropout=0.0, double=True)
    backend = make_backend(task.model, chosen, World())
    shares = EpochPlan(task.lengths(0), chosen, 0).pieces(0, 1)
    batches = [task.collate(piece.examples, 0) for piece in shares[0]]
    loss = contrastive_step(task, backend, World(), batches, shares, 0, lambda n: torch.manual_seed(n))
    return float(loss), task.model.words.weight.grad


def test_a_penalty_counts_once_however_the_step_is_cut() -> None:
    whole, pieces = penalized(10_000), penalized(12)
    assert pieces[0] == pytest.approx(whole[0], rel=1e-10)
    torch.testing.assert_close(pieces[1], whole[1], rtol=1e-8, atol=1e-10)
    plain = gradients(World(), 10_000, 0.0, True)
    assert whole[0] != pytest.approx(plain[0])
