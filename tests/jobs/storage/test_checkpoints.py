"""Remote checkpoints: the engine's own format and rules, over any file system."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fsspec.implementations.local import LocalFileSystem
from helpers.bag_task import BagTask, settings
from helpers.many_processes import together
from helpers.object_stores import everywhere
from pyarrow import fs

from cocite.errors import CociteError, IntegrityError
from cocite.manifests import MANIFEST, manifest_text
from cocite.training.engine import loop
from cocite.training.engine.kept_blocks import KeptBlocks, remove_others
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.world import World
from cocite_jobs.storage.checkpoints import RemoteStore
from cocite_jobs.storage.location import Location


def far(folder: Path) -> Location:
    """A local folder that a store takes for a remote one."""
    folder.mkdir(exist_ok=True)
    return Location("far://bucket/run", "run", fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()))


class Stop(Exception):
    pass


def train(
    store: RemoteStore | FolderStore, world: World, stop: int | None = None
) -> tuple[BagTask, list[int]]:
    short = settings(evaluate_every=3, checkpoint_every=2, keep=1)
    task, steps = BagTask(short), list[int]()

    def log(metrics: dict[str, float], step: int) -> None:
        if "loss" in metrics:
            steps.append(step)
            if step == stop:
                raise Stop(f"step {step}")

    loop.train(task, short, world=world, store=store, fingerprint="f", log=log)
    return task, steps


def weights(task: BagTask) -> torch.Tensor:
    return torch.cat([value.flatten() for value in task.model.parameters()])


def test_it_keeps_what_a_folder_keeps_and_resumes_as_from_a_folder(tmp_path: Path) -> None:
    world = World()
    near = FolderStore(tmp_path / "near", world, metric="fit", keep=1)
    store = RemoteStore(far(tmp_path / "far"), world, metric="fit", keep=1)
    whole, _ = train(near, world)
    with pytest.raises(Stop, match="step 9"):
        train(store, world, stop=9)
    assert store.checkpoints()[-1] == "step-00000008"
    resumed, steps = train(store, world)
    assert steps[0] == 9
    assert torch.equal(weights(resumed), weights(whole))
    assert store.checkpoints() == [path.name for path in near.checkpoints()]
    for name in store.checkpoints():
        here, there = tmp_path / "near" / name, tmp_path / "far" / "run" / name
        assert {path.name for path in here.iterdir()} == {path.name for path in there.iterdir()}
        metas = [json.loads((folder / MANIFEST).read_text())["meta"] for folder in (here, there)]
        assert metas[0] == metas[1]


@everywhere
def test_a_store_keeps_what_a_folder_keeps_and_what_broke_off_is_cleared_away(
    remote: str, tmp_path: Path
) -> None:
    near = FolderStore(tmp_path / "near", World(), metric="fit", keep=1)
    whole, _ = train(near, World())
    store = RemoteStore(Location.of(remote) / "run", World(), metric="fit", keep=1)
    with pytest.raises(Stop, match="step 9"):
        train(store, World(), stop=9)
    (store.location / "step-00000010").write("shard-00000.safetensors", "half")
    resumed, steps = train(store, World())
    assert steps[0] == 9
    assert torch.equal(weights(resumed), weights(whole))
    assert store.location.names() == store.checkpoints() == [path.name for path in near.checkpoints()]


@everywhere
def test_the_blocks_of_a_mining_are_kept_there_until_a_later_checkpoint(remote: str) -> None:
    store = RemoteStore(Location.of(remote) / "run", World(), metric="fit", keep=1)
    rows, into = np.arange(6).reshape(3, 2), np.zeros((3, 2), int)
    for step in (7, 8):
        KeptBlocks(store.place / f"mining-{step:08d}-ab", 0).keep("mining: papers", 0, rows)
    assert KeptBlocks(store.place / "mining-00000007-ab", 0).take("mining: papers", 0, into)
    assert np.array_equal(into, rows)
    assert not KeptBlocks(store.place / "mining-00000007-ab", 1).any_kept

    def names() -> list[str]:
        return [name for name in store.location.names() if name.startswith("mining-")]

    store.save(7, lambda folder: (folder / MANIFEST).write_text("{}") and None, {})
    assert names() == ["mining-00000007-ab", "mining-00000008-ab"]
    store.save(8, lambda folder: (folder / MANIFEST).write_text("{}") and None, {})
    assert names() == ["mining-00000008-ab"]
    remove_others(store.place, "mining-00000008-cd", 8)
    assert names() == []


def test_an_upload_that_broke_off_is_no_checkpoint_and_is_cleared_away(tmp_path: Path) -> None:
    store = RemoteStore(far(tmp_path / "far"), World(), metric="fit", keep=1)
    with pytest.raises(Stop, match="step 5"):
        train(store, World(), stop=5)
    assert store.checkpoints() == ["step-00000002", "step-00000004"][-len(store.checkpoints()) :]
    broken = tmp_path / "far" / "run" / "step-00000006"
    broken.mkdir()
    (broken / "shard-00000.safetensors").write_bytes(b"half")
    _, steps = train(store, World())
    assert steps[0] == 5
    names = sorted(path.name for path in (tmp_path / "far" / "run").iterdir())
    assert names == store.checkpoints()


def test_damage_is_named_with_the_checkpoint_that_is_whole(tmp_path: Path) -> None:
    store = RemoteStore(far(tmp_path / "far"), World(), metric="fit", keep=5)
    train(store, World())
    *_, before, last = store.checkpoints()
    shard = tmp_path / "far" / "run" / last / "shard-00000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    with (
        pytest.raises(
            IntegrityError, match=f"remove {last} to resume from {before}, which is whole"
        ) as caught,
        store.latest(),
    ):
        pass
    assert f"far://bucket/run/{last}/shard-00000.safetensors: damaged" in str(caught.value)


class Full(LocalFileSystem):
    """A disk that is full whenever a test says so."""

    cachable = False
    full = False

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if self.full and "w" in mode:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().open(path, mode, **options)


def test_a_full_disk_is_an_error_and_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    disk = Full(auto_mkdir=True)
    location = Location("far://bucket/run", str(tmp_path / "run"), fs.PyFileSystem(fs.FSSpecHandler(disk)))
    store = RemoteStore(location, World(), metric="fit", keep=2)
    with pytest.raises(Stop, match="step 3"):
        train(store, World(), stop=3)
    disk.full = True
    with pytest.raises(CociteError, match=r"^far://bucket/run/step-00000004: .*No space left on device"):
        train(store, World())
    assert store.checkpoints() == ["step-00000002"]
    disk.full = False
    assert train(store, World())[1][0] == 3


def several(world: World, folder: str) -> dict[str, object]:
    store = RemoteStore(far(Path(folder)), world, metric="fit", keep=2)
    changes = settings(evaluate_every=3, checkpoint_every=2, backend="ddp")
    task = BagTask(changes)
    outcome = loop.train(task, changes, world=world, store=store, fingerprint="f")
    return {"steps": outcome.steps, "weights": weights(task).tolist()}


@pytest.mark.integration
def test_two_ranks_upload_their_parts_and_one_goes_on_with_them(tmp_path: Path) -> None:
    found = together(several, str(tmp_path / "far"))
    store = RemoteStore(far(tmp_path / "far"), World(), metric="fit", keep=2)
    last = tmp_path / "far" / "run" / store.checkpoints()[-1]
    assert {"shard-00000.safetensors", "shard-00001.safetensors"} < {path.name for path in last.iterdir()}
    task, steps = train(store, World())
    assert steps == []  # it was finished
    np.testing.assert_allclose(weights(task).tolist(), found[0]["weights"], rtol=1e-6)


def without_room(world: World, folder: str) -> list[list[str]]:
    """What a rank hears of rank 1, whose temporary disk takes no part of a checkpoint and no copy of one."""
    store = RemoteStore(far(Path(folder)), world, metric="fit", keep=2)
    full = Path(folder) / f"full-{world.rank}"
    full.touch()  # a file, in which no folder can be made

    def write(to: Path) -> None:
        assert all(world.collect(to.is_dir()))
        (to / MANIFEST).write_text(manifest_text("training-checkpoint", {"metrics": {}}, {}))

    def resume() -> None:
        os.environ["LOCAL_RANK"] = "0"  # each copies a checkpoint, as on machines of their own
        with store.latest():
            pass

    store.save(1, write, {})
    tempfile.tempdir = str(full) if world.rank == 1 else None
    heard = []
    for attempt in (lambda: store.save(2, write, {}), resume):
        with pytest.raises(CociteError, match="cannot hold a checkpoint") as caught:
            attempt()
        heard.append([str(caught.value), *store.checkpoints()])
    return heard


@pytest.mark.integration
def test_all_ranks_hear_of_one_that_has_no_room(tmp_path: Path) -> None:
    one, other = together(without_room, str(tmp_path / "far"))
    assert one == other
    for sentence, *checkpoints in one:
        assert "full-1/" in sentence
        assert ": rank 1 cannot hold a checkpoint: Not a directory (checkpoints that are there" in sentence
        assert checkpoints == ["step-00000001"]


def test_an_artifact_beside_the_checkpoints_stays_and_is_verified(tmp_path: Path) -> None:
    store = RemoteStore(far(tmp_path / "far"), World(), metric="fit", keep=1)
    with store.beside("prepared") as folder:
        assert folder is None
    for text in ("one", "another"):
        store.save_beside("prepared", lambda folder, text=text: (folder / "x").write_text(text), {"of": text})
    train(store, World())
    with store.beside("prepared") as folder:
        assert folder is not None
        assert (folder / "x").read_text() == "another"
    assert not folder.exists()
    (tmp_path / "far" / "run" / "prepared" / "x").write_text("damaged")
    with (
        pytest.raises(IntegrityError, match=r"^far://bucket/run/prepared: .*remove prepared"),
        store.beside("prepared"),
    ):
        pass
