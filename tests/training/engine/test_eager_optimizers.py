"""The same steps as torch's own optimizers, without torch's compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from helpers.endpoint import free_port
from torch import nn
from torch.optim import Optimizer

from cocite.training.engine.eager_optimizers import AdamW, NAdam, SparseAdam

RUN = """
import os, sys
from torch import nn
from cocite.training.engine.backends import make_backend
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World

world = World.join(timeout=600) if "RANK" in os.environ else World()
backend = make_backend(nn.Linear(2, 2), TrainingSettings(backend=sys.argv[1], zero=1), world)
backend.backward(lambda model: model(next(model.parameters())).sum(), last=True)
backend.step(rate=0.1)
print([name for name in ("torch._dynamo", "torch._inductor", "mlflow", "pandas") if name in sys.modules])
"""


def stepped(kind: type[Optimizer], *, sparse: bool, **settings: float) -> torch.Tensor:
    """The weights of a table after ten steps, in the middle of which the optimizer was saved and loaded."""
    torch.manual_seed(3)
    table = nn.Embedding(7, 3, sparse=sparse)
    optimizer = kind(table.parameters(), lr=0.1, **settings)  # type: ignore[call-arg]
    for step in range(10):
        optimizer.zero_grad()
        table(torch.tensor([step % 7, 2])).square().sum().backward()
        optimizer.step()
        if step == 5:
            state = optimizer.state_dict()
            optimizer = kind(table.parameters(), lr=0.1, **settings)  # type: ignore[call-arg]
            optimizer.load_state_dict(state)
    return table.weight.detach()


@pytest.mark.parametrize("fused", [False, True])
def test_adamw_steps_as_torchs_own(fused: bool) -> None:
    ours, own = (
        stepped(kind, sparse=False, weight_decay=0.1, fused=fused) for kind in (AdamW, torch.optim.AdamW)
    )
    assert torch.equal(ours, own)


def test_sparse_adam_steps_as_torchs_own() -> None:
    assert torch.equal(stepped(SparseAdam, sparse=True), stepped(torch.optim.SparseAdam, sparse=True))


def test_nadam_steps_as_torchs_own() -> None:
    settings = {"decoupled_weight_decay": True, "weight_decay": 0.1}
    ours, own = (stepped(kind, sparse=False, **settings) for kind in (NAdam, torch.optim.NAdam))
    assert torch.equal(ours, own)


@pytest.mark.parametrize("kind", [AdamW, NAdam, SparseAdam])
def test_hooks_of_a_step_are_called(kind: type[Optimizer]) -> None:
    table = nn.Embedding(3, 1, sparse=kind is SparseAdam)
    optimizer, calls = kind(table.parameters()), []  # type: ignore[call-arg]
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    table(torch.tensor([1])).sum().backward()
    optimizer.step()
    assert calls == [1]


@pytest.mark.parametrize("backend", ["plain", "deepspeed"])
def test_a_training_imports_neither_torchs_compiler_nor_mlflow(backend: str) -> None:
    if backend == "deepspeed":
        pytest.importorskip("deepspeed")
    done = subprocess.run([sys.executable, "-c", RUN, backend], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_workers_that_exchange_gradients_do_not_import_it_either() -> None:
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, "ddp"],
            env=os.environ | meeting | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in ranks:
        out, err = process.communicate(timeout=900)
        assert process.returncode == 0, err
        assert out.splitlines()[-1] == "[]"
