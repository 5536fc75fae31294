"""What a task prepared lies beside the checkpoints, and is not prepared again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from helpers.bag_task import BagTask, settings
from torch import Tensor

from cocite.artifacts import verify
from cocite.errors import IntegrityError
from cocite.training.engine.loop import train
from cocite.training.engine.preparation import prepare
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.world import World

WORLD = World()


class Stop(Exception):
    pass


class Prepared(BagTask):
    """Counts how often it prepares."""

    def __init__(self) -> None:
        super().__init__(settings())
        self.times, self.taken = 0, torch.zeros(0)

    def prepare(self, world: World, stage: Callable[[str], None]) -> Mapping[str, Tensor]:
        assert not self.seen  # it comes before the first step
        stage("preparing it")
        self.times += 1
        self.taken = torch.arange(5.0)
        return {"numbers": self.taken}

    def load_prepared(self, prepared: Mapping[str, Tensor]) -> None:
        self.taken = prepared["numbers"]


def run(folder: Path, fingerprint: str = "f", stop: int | None = None) -> Prepared:
    task = Prepared()

    def log(metrics: dict[str, float], step: int) -> None:
        if step == stop:
            raise Stop

    store = FolderStore(folder, WORLD, metric="fit", keep=1)
    train(task, settings(), world=WORLD, store=store, fingerprint=fingerprint, log=log)
    return task


@pytest.mark.parametrize("stop", [0, 9], ids=["before the first checkpoint", "after it"])
def test_a_resumed_training_takes_what_was_prepared(tmp_path: Path, stop: int) -> None:
    with pytest.raises(Stop, match=r"^$"):
        run(tmp_path, stop=stop)
    assert verify(tmp_path / "prepared", kind="training-prepared").meta == {"fingerprint": "f"}
    task = run(tmp_path)
    assert task.times == 0
    assert task.taken.tolist() == [0, 1, 2, 3, 4]
    assert (tmp_path / "prepared").is_dir()  # checkpoints that go do not take it with them


def test_what_was_prepared_for_another_training_is_replaced(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, WORLD, metric="fit")
    for fingerprint, times in (("one", 1), ("another", 1), ("another", 0)):
        task = Prepared()
        prepare(task, WORLD, store, fingerprint, lambda _: None)
        assert task.times == times
        assert len(task.taken) == 5


def test_ranks_map_what_they_have_just_prepared(tmp_path: Path) -> None:
    task = Prepared()
    prepare(task, WORLD, FolderStore(tmp_path, WORLD, metric="fit"), "f", lambda _: None)
    maps = Path("/proc/self/maps").read_text()
    assert str(tmp_path / "prepared" / "prepared.safetensors") in maps


def test_a_damaged_artifact_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Stop, match=r"^$"):
        run(tmp_path, stop=9)
    file = tmp_path / "prepared" / "prepared.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(IntegrityError, match=r"damaged: its SHA-256.*remove prepared, to have it made anew"):
        run(tmp_path)


def test_without_a_store_nothing_is_kept() -> None:
    task, stages = Prepared(), list[str]()
    train(task, settings(steps=1), world=WORLD, stage=stages.append)
    assert task.times == 1
    assert stages == ["preparing it"]
