from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.many_processes import together
from torch import Tensor, nn

from cocite.training.engine.backends.torch_backend import TorchBackend
from cocite.training.engine.optimizers import ParameterGroup
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World

SETTINGS = TrainingSettings.parse({"optimizer": {"learning_rate": 0.1, "weight_decay": 0.0, "clip": 0.0}})
TABLE = (ParameterGroup(frozenset({"table.weight"}), rate_share=0.5, sparse=True),)


class Model(nn.Module):
    def __init__(self, sparse: bool) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.table = nn.Embedding(5, 2, sparse=sparse)
        self.layer = nn.Linear(2, 1)


def loss_of(rows: list[int]) -> object:
    def work(model: nn.Module) -> Tensor:
        value: Tensor = model.layer(model.table(torch.tensor(rows))).square().sum()  # type: ignore[operator]
        return value

    return work


def test_a_table_with_sparse_gradients_is_stepped_where_the_batch_was() -> None:
    """The same Adam as torch's dense one on the rows of the batch; the other rows stay."""
    model, twin = Model(True), Model(False)
    before = model.table.weight.detach().clone()
    backend = TorchBackend(model, SETTINGS, World(), TABLE)
    adam = torch.optim.Adam(twin.table.parameters(), lr=0.05)
    layer = torch.optim.AdamW(twin.layer.parameters(), lr=0.1, weight_decay=0.0)
    for _ in range(3):
        backend.backward(loss_of([1, 3, 3]), last=True)  # type: ignore[arg-type]
        backend.step(0.1)
        adam.zero_grad()
        layer.zero_grad()
        loss_of([1, 3, 3])(twin).backward()  # type: ignore[operator]
        adam.step()
        layer.step()
    torch.testing.assert_close(model.table.weight[[1, 3]], twin.table.weight[[1, 3]])
    torch.testing.assert_close(model.layer.weight, twin.layer.weight)
    assert torch.equal(model.table.weight[[0, 2, 4]], before[[0, 2, 4]])


def test_a_step_without_the_table_counts_for_it_all_the_same() -> None:
    model = Model(True)
    backend = TorchBackend(model, SETTINGS, World(), TABLE)
    backend.backward(loss_of([1]), last=True)  # type: ignore[arg-type]
    backend.step(0.1)
    before = model.table.weight.detach().clone()
    backend.backward(lambda running: running.layer.bias.square().sum(), last=True)  # type: ignore[union-attr, operator]
    backend.step(0.1)
    assert torch.equal(model.table.weight, before)
    assert backend.optimizer_of[model.table.weight].state[model.table.weight]["step"] == 2


@pytest.mark.parametrize("name", ["adamw", "nadam"])
@pytest.mark.parametrize("steps", [2, 300])
def test_slots_put_back_go_on_as_if_nothing_had_happened(name: str, steps: int) -> None:
    optimizer = SETTINGS.optimizer.model_copy(update={"name": name})
    settings = SETTINGS.model_copy(update={"optimizer": optimizer})
    groups = TABLE if name == "adamw" else ()
    model, other = Model(bool(groups)), Model(bool(groups))
    one = TorchBackend(model, settings, World(), groups)
    for _ in range(steps):
        one.backward(loss_of([1, 2]), last=True)  # type: ignore[arg-type]
        one.step(0.1)
    slots = {
        name: {key: value.clone() for key, value in found.items()} for name, found in one.slots(moments=True)
    }
    two = TorchBackend(other, settings, World(), groups)
    two.restore(slots.__getitem__, steps)
    for backend in (one, two):
        backend.backward(loss_of([2, 4]), last=True)  # type: ignore[arg-type]
        backend.step(0.1)
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


class Counted(nn.Module):
    """A model whose compiled graphs count how often they run."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.runs = 0

    def forward(self, rows: Tensor) -> Tensor:
        scores: Tensor = self.layer(rows)
        return scores

    def compile(self, **options: Any) -> None:
        def counting(graph: torch.fx.GraphModule, _: list[Tensor]) -> Callable[..., Any]:
            def run(*inputs: Any) -> Any:
                self.runs += 1
                return graph(*inputs)

            return run

        super().compile(backend=counting, **options)


def compiled_runs(world: World) -> list[int]:
    """Runs of the compiled graph so far: after a step, an evaluation, another step, and once the backend is closed."""
    backend = "ddp" if world.size > 1 else "plain"
    settings = TrainingSettings(compile=True, backend=backend)  # type: ignore[arg-type]
    model, batch = Counted(), torch.ones(3, 2)
    engine, seen = TorchBackend(model, settings, world), []

    def step() -> None:
        engine.backward(lambda running: running(batch).square().sum(), last=True)
        engine.step(0.1)
        seen.append(model.runs)

    step()
    with engine.whole() as whole:
        assert not whole.training
        whole(batch)
    seen.append(model.runs)
    step()
    assert model.training
    engine.close()
    model(batch)
    return [*seen, model.runs]


def test_the_step_after_an_evaluation_runs_the_compiled_call() -> None:
    assert compiled_runs(World()) == [1, 1, 2, 2]


@pytest.mark.integration
def test_the_step_after_an_evaluation_runs_the_compiled_call_on_each_rank() -> None:
    assert together(compiled_runs) == [[1, 1, 2, 2]] * 2
