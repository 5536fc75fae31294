"""Checkpoints that are asked for, by the clock or on a signal, and the end that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.bag_task import BagTask, settings
from helpers.engine_runs import far, run
from helpers.many_processes import together

from cocite.errors import StoppedError
from cocite.training.engine.loop import train
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.wishes import Wishes
from cocite.training.engine.world import World

WORLD = World()


class WishingTask(BagTask):
    """Wants something while the loss of a step is computed."""

    wishes: Wishes
    steps = 0

    def loss(self, model, batch):
        self.steps += 1
        if self.steps == 4:
            self.wish()
        return super().loss(model, batch)


class RecordingStore(FolderStore):
    """Notes the steps whose checkpoints it kept."""

    def save(self, step, write, metrics):
        super().save(step, write, metrics)
        self.steps = [*getattr(self, "steps", []), step]


def wishing(wish: str, folder: Path, **changes: Any) -> tuple[WishingTask, RecordingStore, Any]:
    """A task of one pass a step that has a wish in step 4, where its checkpoints are kept, and its settings."""
    chosen = settings(tokens=10_000, **changes)
    task, wishes = WishingTask(chosen), Wishes()
    task.wishes, task.wish = wishes, getattr(wishes, wish)
    return task, RecordingStore(folder, World().apart(), metric="fit", keep=99), chosen


def test_a_wish_for_a_checkpoint_is_granted_after_the_step(tmp_path: Path) -> None:
    task, store, chosen = wishing("save", tmp_path)
    outcome = train(task, chosen, world=WORLD, store=store, wishes=task.wishes)
    assert store.steps == [4, 7, 14]
    assert outcome.reason == "done"


def test_who_is_asked_to_stop_saves_and_goes_on_from_there_as_if_nothing_had_been(tmp_path: Path) -> None:
    whole = run(WORLD, {"tokens": 10_000})
    task, store, chosen = wishing("stop", tmp_path)
    with pytest.raises(StoppedError, match="stopped after step 4; its checkpoint is kept"):
        train(task, chosen, world=WORLD, store=store, fingerprint="tiny", wishes=task.wishes)
    rest = run(WORLD, {"tokens": 10_000}, tmp_path)
    assert min(rest.losses) == 5
    assert far(whole, rest) == 0


def test_checkpoints_by_the_clock(tmp_path: Path) -> None:
    task, store, chosen = wishing("save", tmp_path, checkpoint_minutes=1e-9)
    train(task, chosen, world=WORLD, store=store)
    assert store.steps == list(range(1, 15))


def test_saving_beside_the_steps_gives_the_same_checkpoints(tmp_path: Path) -> None:
    for name, world in (("apart", WORLD.apart()), ("at once", WORLD)):
        chosen = settings(checkpoint_every=3)
        store = FolderStore(tmp_path / name, world, metric="fit", keep=99)
        train(BagTask(chosen), chosen, world=WORLD, store=store)
    for path in sorted((tmp_path / "apart").rglob("*.safetensors")):
        assert path.read_bytes() == (tmp_path / "at once" / path.relative_to(tmp_path / "apart")).read_bytes()


def stopped_by_rank_1(world: World, folder: str) -> list[str]:
    """Two ranks, of which the second alone is asked to stop."""
    task, _, chosen = wishing("stop", Path(folder), backend="ddp")
    store = FolderStore(Path(folder), world.apart(), metric="fit", keep=99)
    wishes = task.wishes if world.rank == 1 else Wishes()
    try:
        train(task, chosen, world=world, store=store, wishes=wishes)
    except StoppedError:
        return [path.name for path in store.checkpoints()]
    return ["went on"]


def test_the_wish_of_any_rank_counts_for_all(tmp_path: Path) -> None:
    assert together(stopped_by_rank_1, str(tmp_path)) == [["step-00000004"]] * 2
