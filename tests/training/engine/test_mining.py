"""What was mined lies beside the checkpoints, and only where a resumed training needs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.bag_task import BagTask, settings
from torch import Tensor

from cocite.artifacts import verify
from cocite.errors import IntegrityError
from cocite.training.engine.checkpoints import Progress, save_tensors
from cocite.training.engine.loop import train
from cocite.training.engine.mining import FILE, Mining
from cocite.training.engine.stores import FolderStore, kind_of
from cocite.training.engine.world import World

WORLD = World()


class Stop(Exception):
    pass


class Miner(BagTask):
    """Its mined numbers lie beside the checkpoints instead of in them."""

    mining_metrics: Mapping[str, float] = {}

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.numbers = torch.zeros(3)
        self.times: list[int] = []

    @property
    def mined(self) -> Any:  # BagTask reads an attribute of this name
        return _Both(self.numbers)

    @mined.setter
    def mined(self, value: Tensor) -> None:
        self.numbers = value

    def refresh(self, model: Any, world: World, step: int) -> None:
        drift = torch.tanh(next(model.parameters()).sum()).item()
        self.numbers = torch.tensor([drift, float(step), 0.0])
        self.times.append(step)

    def load_mined(self, mined: Mapping[str, Tensor]) -> None:
        self.numbers = mined["numbers"]

    def state(self) -> Mapping[str, Tensor]:
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        assert not state


class _Both:
    """The numbers by their index, and all of them when called."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers = numbers

    def __getitem__(self, index: int) -> Tensor:
        return self.numbers[index]

    def __call__(self) -> dict[str, Tensor]:
        return {"numbers": self.numbers}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run(folder: Path, stop: int | None = None, **changes: Any) -> Miner:
    chosen = settings(**changes)
    task = Miner(chosen)

    def log(metrics: dict[str, float], step: int) -> None:
        if "loss" in metrics and step == stop:
            raise Stop

    train(task, chosen, world=WORLD, store=FolderStore(folder, WORLD, metric="fit", keep=1), log=log)
    return task


@pytest.mark.parametrize(
    ("changes", "mined"),
    [({"refresh_every": 6}, "mined-00000006"), ({"refresh_epochs": 2, "epochs": 3}, "mined-00000000")],
    ids=["steps", "epochs"],
)
def test_a_resumed_training_goes_on_with_what_was_mined(
    tmp_path: Path, changes: dict[str, Any], mined: str
) -> None:
    whole = run(tmp_path / "whole", checkpoint_every=4, **changes)
    with pytest.raises(Stop, match=r"^$"):
        run(tmp_path / "parts", stop=9, checkpoint_every=4, **changes)
    assert mined in names(tmp_path / "parts")
    verify(tmp_path / "parts" / mined, kind=kind_of(mined))
    resumed = run(tmp_path / "parts", checkpoint_every=4, **changes)
    assert resumed.times == [step for step in whole.times if step > 8]
    for one, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_nothing_is_kept_where_mining_comes_next_and_what_no_checkpoint_names_goes(tmp_path: Path) -> None:
    run(tmp_path / "epochs")
    assert not any(name.startswith("mined-") for name in names(tmp_path / "epochs"))
    run(tmp_path / "steps", refresh_every=2, checkpoint_every=3, evaluate_every=100)
    kept = names(tmp_path / "steps")
    named = {verify(tmp_path / "steps" / name).meta.get("mined") for name in kept if name.startswith("step-")}
    assert {name for name in kept if name.startswith("mined-")} == named - {None}


def test_a_damaged_artifact_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Stop, match=r"^$"):
        run(tmp_path, stop=5, checkpoint_every=4, refresh_every=6)
    file = tmp_path / "mined-00000000" / "mined.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(IntegrityError, match="damaged: its SHA-256"):
        run(tmp_path, checkpoint_every=4, refresh_every=6)


def test_what_was_mined_is_mapped_where_training_goes_on(tmp_path: Path) -> None:
    store, task = FolderStore(tmp_path, WORLD, metric="fit"), Miner(settings())
    numbers = torch.arange(3.0)
    store.save_beside("mined-00000003", lambda folder: save_tensors(folder / FILE, {"numbers": numbers}), {})
    mining = Mining(task, settings())
    mining.restore(tmp_path / "step-00000004", "mined-00000003")
    assert torch.equal(task.numbers, numbers)
    assert mining.step == 3
    assert str(tmp_path / "mined-00000003" / FILE) in Path("/proc/self/maps").read_text()


def test_metrics_of_mining_are_logged_with_their_step() -> None:
    logged: list[tuple[dict[str, float], int]] = []
    chosen = settings(refresh_every=5)
    task = Miner(chosen)
    task.mining_metrics = {"mined_recall": 0.97}
    train(task, chosen, world=WORLD, log=lambda metrics, step: logged.append((metrics, step)))
    assert [step for metrics, step in logged if metrics == {"mined_recall": 0.97}] == [0, 5, 10]


def test_it_is_due_by_steps_or_by_epochs() -> None:
    def due(progress: Progress, **changes: Any) -> bool:
        chosen = settings(**changes)
        return Mining(Miner(chosen), chosen).is_due(progress)

    assert due(Progress(step=10, epoch=1, position=3), refresh_every=5)
    assert not due(Progress(step=7, epoch=1), refresh_every=5)
    assert due(Progress(step=7, epoch=1))
    assert not due(Progress(step=7, epoch=1), refresh_epochs=2)
    assert due(Progress(step=14, epoch=2), refresh_epochs=2)
    assert not due(Progress(step=8, epoch=1, position=1))
