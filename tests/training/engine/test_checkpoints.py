from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from helpers.engine_runs import UNEVEN, run
from torch import nn

from cocite.artifacts import verify
from cocite.errors import InputError
from cocite.training.engine.checkpoints import KIND, Saved, owners
from cocite.training.engine.world import World


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("store")
    run(World(), UNEVEN, store, kill=9, sparse=True)
    return store / "step-00000009"


def test_parameters_are_shared_out_by_size_in_the_models_order() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 8))
    owner = owners(model, 2)
    assert list(owner) == [name for name, _ in model.named_parameters()]
    assert list(owner.values()) == sorted(owner.values())
    assert set(owner.values()) == {0, 1}
    assert set(owners(model, 1).values()) == {0}


def test_it_is_an_artifact_with_weights_moments_and_progress(folder: Path) -> None:
    manifest = verify(folder, kind=KIND)
    assert manifest.meta["step"] == 9
    progress = json.loads((folder / "progress.json").read_text())
    assert (progress["step"], progress["shards"]) == (9, 1)
    assert progress["start"].keys() == {"fit"}
    with ExitStack() as stack:
        saved = Saved.open(folder, stack, fingerprint="tiny")
        for name in ("words.weight", "hidden.weight"):  # stepped by rows, and whole
            assert saved.slots(name).keys() == {"weight", "exp_avg", "exp_avg_sq"}
        assert saved.state("task").keys() == {"mined"}


def test_the_progress_of_an_earlier_version_is_read(folder: Path) -> None:
    path = folder / "progress.json"
    text = path.read_text()
    try:
        path.write_text(
            json.dumps({k: v for k, v in json.loads(text).items() if k not in ("start", "plateaus")})
        )
        with ExitStack() as stack:
            progress = Saved.open(folder, stack, fingerprint="tiny").progress
        assert (progress.start, progress.plateaus, progress.step) == ({}, 0, 9)
    finally:
        path.write_text(text)


def test_another_training_and_another_model_are_refused(folder: Path) -> None:
    with ExitStack() as stack:
        with pytest.raises(InputError, match="is a checkpoint of another training"):
            Saved.open(folder, stack, fingerprint="other")
        saved = Saved.open(folder, stack, fingerprint="tiny")
        with pytest.raises(InputError, match=r"holds no weight '0\.weight' of shape \(3, 2\)"):
            saved.load(nn.Sequential(nn.Linear(2, 3)))


def test_the_best_weight_is_the_present_one_where_no_other_was_kept(folder: Path) -> None:
    with ExitStack() as stack:
        saved = Saved.open(folder, stack, fingerprint="tiny")
        best, present = saved.best("words.weight"), saved.slots("words.weight")["weight"]
        assert best.shape == present.shape
        assert saved.progress.best_step in (0, 4, 8)
        assert not torch.equal(best, present)
