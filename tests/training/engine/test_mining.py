"""What was mined lies beside the checkpoints, and only where a resumed training needs it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.bag_task import BagTask, settings
from helpers.many_processes import together
from torch import Tensor
from torch.multiprocessing.spawn import ProcessExitedException

from cocite.artifacts import verify
from cocite.errors import IntegrityError, StoppedError
from cocite.training.engine.checkpoints import Progress, save_tensors
from cocite.training.engine.loop import train
from cocite.training.engine.mining import FILE, Mining
from cocite.training.engine.stores import FolderStore, kind_of
from cocite.training.engine.watch import Watch
from cocite.training.engine.wishes import Wishes
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


class SlowMiner(Miner):
    """Mines in six blocks, in one of which, of the mining before a step, it wants something."""

    def __init__(self, chosen: Any, wish: str = "", step: int = 7) -> None:
        super().__init__(chosen)
        self.watch, self.wishes = Watch(), Wishes()
        self.wish, self.step = wish, step
        self.blocks: list[tuple[int, int]] = []

    def refresh(self, model: Any, world: World, step: int) -> None:
        share = world.share(12)
        count = share.stop - share.start
        for block in self.watch.blocks("mining: bags", count, size=2, total=12, world=world):
            self.blocks.append((step, block.start))
            if self.wish and (step, block.start) == (self.step, 2):
                getattr(self.wishes, self.wish)()
                self.wish = ""
        super().refresh(model, world, step)


def slow(folder: Path, wish: str = "", step: int = 7, world: World = WORLD, **changes: Any) -> SlowMiner:
    chosen = settings(**{"checkpoint_every": 100, **changes})
    task = SlowMiner(chosen, wish, step)
    store = FolderStore(folder, world.apart(), metric="fit", keep=9)
    wishes = task.wishes if world.rank == world.size - 1 else Wishes()
    try:
        train(task, chosen, world=world, store=store, wishes=wishes)
    except StoppedError as error:
        task.said = str(error)  # type: ignore[attr-defined]
    return task


@pytest.mark.parametrize("changes", [{}, {"refresh_every": 5}], ids=["epochs", "steps"])
def test_who_is_stopped_while_mining_keeps_the_step_and_mines_again(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    step = changes.get("refresh_every", 7)
    whole = slow(tmp_path / "whole", **changes)
    assert whole.times == list(range(0, 14, step))
    stopped = slow(tmp_path / "parts", "stop", step, **changes)
    assert stopped.blocks[-1] == (step, 2)  # not one block more
    assert f"stopped while mining after step {step}; its checkpoint is kept" in stopped.said
    assert [name for name in names(tmp_path / "parts") if not name.startswith(".")] == [f"step-{step:08d}"]
    resumed = slow(tmp_path / "parts", **changes)
    assert resumed.times == whole.times[1:]
    for one, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_nothing_is_kept_of_a_first_mining_that_is_stopped(tmp_path: Path) -> None:
    stopped = slow(tmp_path, "stop", 0)
    assert "stopped while mining after step 0; nothing was kept" in stopped.said
    assert not [name for name in names(tmp_path) if name.startswith("step-")]


@pytest.mark.parametrize(("changes", "again"), [({}, True), ({"checkpoint_every": 7}, False)])
def test_a_checkpoint_that_is_wanted_while_mining_is_made_unless_it_is_there(
    tmp_path: Path, changes: dict[str, Any], again: bool
) -> None:
    task = slow(tmp_path, "save", **changes)
    assert "step-00000007" in names(tmp_path)
    assert task.times == [0, 7]
    assert (task.blocks.count((7, 0)) == 2) == again


def test_a_watched_mining_tells_how_far_it_is() -> None:
    told: list[Any] = []
    chosen = settings()
    watch = Watch(stage=lambda *stage: told.append(stage), advance=told.append)
    train(SlowMiner(chosen), chosen, world=WORLD, mining=watch)
    assert told == [("mining: bags", 12), *[2] * 6] * 2


def stopped_by_one(world: World, folder: str) -> tuple[list[tuple[int, int]], str]:
    task = slow(Path(folder), "stop", world=world, backend="ddp")
    return task.blocks, task.said


@pytest.mark.integration
def test_the_wish_of_one_rank_ends_the_mining_of_all(tmp_path: Path) -> None:
    for blocks, said in together(stopped_by_one, str(tmp_path)):
        assert blocks[-1] == (7, 2)
        assert "stopped while mining after step 7; its checkpoint is kept" in said


class KeptMiner(SlowMiner):
    """Mines twelve numbers of the present weights, in blocks that are kept."""

    def refresh(self, model: Any, world: World, step: int) -> None:
        share = world.share(12)
        weights = torch.nn.utils.parameters_to_vector(model.parameters()).numpy()
        into = np.zeros(share.stop - share.start, np.float32)
        for block in self.watch.filled("mining: bags", into, size=2, total=12, world=world):
            self.blocks.append((step, block.start))
            if self.wish and (step, block.start) == (self.step, 2):
                if self.wish == "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                getattr(self.wishes, self.wish)()
                self.wish = ""
            into[block] = weights[share][block]
        total = world.sum(torch.tensor([float(into.sum())])).item()
        self.numbers = torch.tensor([np.tanh(total), float(step), 0.0])
        self.times.append(step)


def keeping(folder: Path, wish: str = "", step: int = 7, world: World = WORLD, **changes: Any) -> KeptMiner:
    chosen = settings(**{"checkpoint_every": 100, **changes})
    task = KeptMiner(chosen, wish, step)
    wishes = task.wishes if world.rank == world.size - 1 else Wishes()
    try:
        store = FolderStore(folder, world.apart(), metric="fit", keep=9)
        train(task, chosen, world=world, store=store, wishes=wishes)
    except StoppedError as error:
        task.said = str(error)  # type: ignore[attr-defined]
    return task


def mining_folders(folder: Path) -> list[str]:
    return [name for name in names(folder) if name.startswith("mining-")]


@pytest.mark.parametrize("step", [0, 7])
def test_who_is_stopped_while_mining_goes_on_with_the_blocks_that_are_done(tmp_path: Path, step: int) -> None:
    whole = keeping(tmp_path / "whole")
    assert [start for at, start in whole.blocks if at == step] == [0, 2, 4, 6, 8, 10]
    stopped = keeping(tmp_path / "parts", "stop", step)
    assert "what was mined" in stopped.said  # type: ignore[attr-defined]
    assert stopped.blocks[-2:] == [(step, 0), (step, 2)]
    resumed = keeping(tmp_path / "parts")
    assert [start for at, start in resumed.blocks if at == step] == [4, 6, 8, 10]
    assert torch.equal(resumed.numbers, whole.numbers)
    for one, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not mining_folders(tmp_path / "parts")


def test_a_checkpoint_that_is_wanted_while_mining_costs_no_block(tmp_path: Path) -> None:
    task = keeping(tmp_path, "save")
    assert "step-00000007" in names(tmp_path)
    assert [start for at, start in task.blocks if at == 7] == [0, 2, 4, 6, 8, 10]


def killed_while_mining(world: World, folder: str) -> None:
    keeping(Path(folder), "die", world=world, backend="ddp" if world.size > 1 else "plain")


@pytest.mark.integration
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_blocks_of_killed_ranks_are_there_for_as_many_ranks_alone(tmp_path: Path, ranks: int) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    with pytest.raises(ProcessExitedException, match="terminated with signal SIGKILL"):
        together(killed_while_mining, str(here), workers=ranks)
    [folder] = mining_folders(here)
    assert folder.startswith("mining-00000007-")
    assert len(names(here / folder)) == ranks  # each had one block, and was killed in its second
    shutil.copytree(here, there)
    found = together(resumed_blocks, str(here), workers=ranks)
    assert sum(len(blocks) for blocks in found) == 6 - ranks
    other = together(resumed_blocks, str(there), workers=3 - ranks)
    assert sum(len(blocks) for blocks in other) == 6


def resumed_blocks(world: World, folder: str) -> list[int]:
    task = keeping(Path(folder), world=world, backend="ddp" if world.size > 1 else "plain")
    return [start for at, start in task.blocks if at == 7]


def test_the_blocks_of_a_mining_stay_until_a_later_checkpoint_and_no_longer(tmp_path: Path) -> None:
    class Looking(FolderStore):
        def save(self, step: int, write: Any, metrics: Mapping[str, float]) -> None:
            before = mining_folders(tmp_path)
            super().save(step, write, metrics)
            seen[step] = [name[:15] for name in before], [name[:15] for name in mining_folders(tmp_path)]

    seen: dict[int, tuple[list[str], list[str]]] = {}
    chosen = settings(refresh_every=5, checkpoint_every=4)
    task = KeptMiner(chosen)
    train(task, chosen, world=WORLD, store=Looking(tmp_path, WORLD, metric="fit"))
    # Saving is not beside the steps here: the mining before step 5 begins after the checkpoint of step 4.
    assert seen[4] == (["mining-00000000"], [])
    assert seen[8] == (["mining-00000005"], [])


def test_the_blocks_of_other_weights_are_not_taken(tmp_path: Path) -> None:
    keeping(tmp_path, "stop", 0)
    [blocks] = mining_folders(tmp_path)
    other = keeping(tmp_path, "stop", 0, seed=1)
    assert other.blocks == [(0, 0), (0, 2)]
    assert mining_folders(tmp_path) != [blocks]
