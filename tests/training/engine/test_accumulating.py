"""A step in several passes has the gradient of the mean over its examples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.bag_task import BagTask, settings

from cocite.training.engine.accumulating import accumulated_step
from cocite.training.engine.backends import make_backend
from cocite.training.engine.batches import EpochPlan
from cocite.training.engine.loop import train
from cocite.training.engine.world import World

WORLD = World()


def test_pieces_add_up_to_the_mean_over_the_step() -> None:
    chosen = settings(tokens=25, batch=12)
    task, whole = BagTask(chosen), BagTask(chosen)
    backend = make_backend(task.model, chosen, WORLD, ())
    plan = EpochPlan.of(task, chosen, 0, WORLD, None)
    pieces, examples = plan.pieces(0, 1)[0], plan.examples(0)
    assert len(pieces) > 1
    batches = [task.collate(piece.examples, 0) for piece in pieces]
    seeded: list[int] = []
    loss = accumulated_step(task, backend, WORLD, batches, pieces, len(examples), seeded.append)
    mean = whole.loss(whole.model, whole.collate(np.asarray(examples), 0)).mean()
    mean.backward()
    assert float(loss) == pytest.approx(mean.item(), rel=1e-5)
    for (name, one), other in zip(task.model.named_parameters(), whole.model.parameters(), strict=True):
        if other.grad is not None:
            assert one.grad is not None, name
            assert torch.allclose(one.grad, other.grad, atol=1e-6), name
    assert seeded == list(range(len(pieces)))


def test_a_loss_for_each_example_is_asked_for() -> None:
    class Mean(BagTask):
        def loss(self, model, batch):
            return super().loss(model, batch).mean()

    with pytest.raises(ValueError, match=r"a batch of \d examples has losses of shape \(\)"):
        train(Mean(settings()), settings(), world=WORLD)
