from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from helpers.bag_task import Bag, BagTask, settings

from cocite.artifacts import verify
from cocite.errors import CociteError, IntegrityError, WriteError
from cocite.training.engine import checkpoints
from cocite.training.engine.checkpoints import Progress
from cocite.training.engine.loop import train
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.world import World

WORLD = World()


def save(store: FolderStore, step: int, fit: float | None, size: int = 4) -> None:
    metrics = {} if fit is None else {"fit": fit}

    def write(folder: Path) -> None:
        checkpoints.write(
            folder,
            WORLD,
            slots={"w": {"weight": torch.full((size,), float(step))}},
            best={},
            state={},
            progress=Progress(step=step),
            meta={"fingerprint": "", "step": step, "metrics": metrics},
        )

    store.save(step, write, metrics)


def steps(store: FolderStore) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in store.checkpoints()]


def newest(store: FolderStore) -> str | None:
    with store.latest() as folder:
        return folder.name if folder else None


def test_the_best_and_the_last_are_kept(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "new" / "store", WORLD, metric="fit", keep=2)
    for step, fit in enumerate([0.1, 0.9, 0.3, 0.8, 0.2, None, 0.1], start=1):
        save(store, step, fit)
        assert step in steps(store)
    assert steps(store) == [2, 4, 7]
    assert newest(store) == "step-00000007"
    assert {path.name for path in store.folder.iterdir()} == {f"step-{step:08d}" for step in (2, 4, 7)}


def test_blocks_of_a_mining_go_with_a_checkpoint_of_a_later_step(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, WORLD, metric="fit", keep=1)
    for step in (2, 3):
        (store.place / f"mining-{step:08d}-ab").write("block", b"")
    (tmp_path / ".mining-00000001-ab.tmp").mkdir()  # of a writer that was killed
    save(store, 2, 0.5)
    assert store.place.names() == ["mining-00000002-ab", "mining-00000003-ab", "step-00000002"]
    save(store, 3, 0.4)
    assert store.place.names() == ["mining-00000003-ab", "step-00000002", "step-00000003"]


def test_an_empty_store_has_no_latest(tmp_path: Path) -> None:
    assert newest(FolderStore(tmp_path / "none", WORLD, metric="fit")) is None


def test_what_a_killed_writer_left_is_not_seen_and_removed(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, WORLD, metric="fit")
    save(store, 1, 0.5)
    (tmp_path / ".step-00000002.tmp").mkdir()
    (tmp_path / ".step-00000002.tmp" / "shard-00000.safetensors").write_bytes(b"half")
    assert newest(store) == "step-00000001"
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_a_step_saved_again_takes_the_olds_place(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, WORLD, metric="fit")
    save(store, 1, 0.5)
    save(store, 1, 0.6)
    assert verify(tmp_path / "step-00000001").meta["metrics"] == {"fit": 0.6}
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_a_damaged_latest_is_refused_and_names_the_file_and_the_one_that_is_whole(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, WORLD, metric="fit", keep=3)
    for step in (1, 2, 3):
        save(store, step, step / 10)
    for step in (2, 3):
        shard = tmp_path / f"step-{step:08d}" / "shard-00000.safetensors"
        damaged = bytearray(shard.read_bytes())
        damaged[-1] ^= 1
        shard.write_bytes(damaged)
    with pytest.raises(IntegrityError, match="damaged: its SHA-256") as caught:
        newest(store)
    assert str(caught.value) == (
        f"{tmp_path}/step-00000003/shard-00000.safetensors: damaged: its SHA-256 is not the manifest's "
        "(remove step-00000003 to resume from step-00000001, which is whole)"
    )


def test_a_damaged_only_one_says_so(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, WORLD, metric="fit")
    save(store, 1, 0.5)
    (tmp_path / "step-00000001" / "progress.json").unlink()
    with pytest.raises(
        IntegrityError, match=r"progress.json: the file is missing .*remove step-00000001 to start over"
    ):
        newest(store)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 96 KB; skipped where nothing may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() or os.system(f"mount -t tmpfs -o size=96k tmpfs {folder} 2>/dev/null"):
        pytest.skip("only root may mount a file system")
    yield folder
    os.system(f"umount {folder}")


def test_a_full_disk_ends_in_a_sentence_and_leaves_the_last_checkpoint_whole(small_disk: Path) -> None:
    store = FolderStore(small_disk / "store", WORLD, metric="fit")
    save(store, 1, 0.5)
    with pytest.raises(CociteError, match="step 2 could not be written") as caught:
        save(store, 2, 0.6, size=100_000)
    assert "the checkpoint of step 2 could not be written by rank 0: no space left on the device" in str(
        caught.value
    )
    assert "the checkpoint before it is whole" in str(caught.value)
    assert newest(store) == "step-00000001"


@pytest.mark.parametrize("files", [4, 5], ids=["the progress", "the manifest"])
def test_a_disk_that_fills_up_during_training_does_the_same(
    files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path / "store", WORLD, metric="fit")
    written = checkpoints.write_atomic
    room = iter([True] * files)

    def full(path: Path, text: str) -> None:
        if not next(room, False):
            raise WriteError("no space left on the device", where=str(path))
        written(path, text)

    monkeypatch.setattr(checkpoints, "write_atomic", full)  # two files for each checkpoint
    with pytest.raises(
        CociteError, match="step 9 could not be written(?: by rank 0)?: no space left on the device"
    ):
        train(BagTask(settings()), settings(checkpoint_every=3), world=WORLD, store=store)
    assert newest(store) == "step-00000006"


def test_every_parameter_has_one_owner_and_parts_are_even() -> None:
    model = Bag(0.0, rare=True)
    owner = checkpoints.owners(model, 3)
    sizes = [0, 0, 0]
    for name, parameter in model.named_parameters():
        sizes[owner[name]] += parameter.numel()
    assert set(owner) == {name for name, _ in model.named_parameters()}
    assert list(owner.values()) == sorted(owner.values())
