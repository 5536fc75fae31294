"""Trainings of the engine in this process: what a stopped one leaves, and how it is resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from helpers.bag_recipe import BagRecipe
from helpers.bag_runs import TESTS, train_command, weights_of

from cocite.artifacts import verify
from cocite.config import with_overrides
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import BusyError, CociteError, ConfigError, InputError, IntegrityError, NotFoundError
from cocite.manifests import read_manifest
from cocite_jobs.storage.location import Location
from cocite_jobs.training.engine_session import _require_encoder, resolve_backend
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.train import open_session, train
from cocite_jobs.training.types import LaunchOptions

pytestmark = pytest.mark.usefixtures("bag_kind")

TRAINING = {"steps": 8, "batch": 8, "tokens": 20, "log_every": 1, "refresh_every": 1, "evaluate_every": 4}


def recipe(*overrides: str) -> BagRecipe:
    data = {"kind": "bag", "training": TRAINING, "workers": {"count": 0}}
    return BagRecipe.parse(with_overrides(data, overrides))


class Stop(Exception):
    pass


def go(corpus: Corpus, to: Path, *overrides: str, start: str = "new", stop: int = -1) -> int:
    """Train in this process to the end, or to a step; returns the step from which it resumed."""
    steps: list[int] = []
    resumed = [0]

    def log(metrics: dict[str, float], step: int) -> None:
        if "loss" in metrics:
            steps.append(step)
            if step == stop:
                raise Stop(f"step {step}")

    def stage(text: str, _: int) -> None:
        if text.startswith("going on from step "):
            resumed.append(int(text.split()[-1]))

    with open_session(recipe(*overrides), corpus, to, LaunchOptions(start=start)) as session:  # type: ignore[arg-type]
        session.train(ProgressFunctions(log=log, stage=stage))
    assert steps == list(range(1, TRAINING["steps"] + 1))
    return resumed[-1]


def digest(folder: Path) -> str:
    return verify(folder / "bag", kind="bag").digest


def test_a_stopped_training_asks_and_resumes_to_the_same_end(corpus: Corpus, tmp_path: Path) -> None:
    go(corpus, tmp_path / "whole")
    model = tmp_path / "model"
    with pytest.raises(Stop, match="step 6"):
        go(corpus, model, stop=6)
    with pytest.raises(
        InputError, match=r"unfinished training, up to step 4 \(pass --resume to go on with it, or"
    ):
        go(corpus, model)
    # On what it runs, for how long, and how often it saves, may change.
    assert go(corpus, model, "training.keep=1", "training.tokens=40", start="resume") == 4
    assert [path.name for path in model.iterdir()] == ["bag"]
    assert verify(model / "bag").files == verify(tmp_path / "whole" / "bag").files
    with pytest.raises(NotFoundError, match="holds no training to go on with"):
        go(corpus, model, start="resume")


def test_fresh_starts_over(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(Stop, match="step 6"):
        go(corpus, tmp_path, stop=6)
    assert go(corpus, tmp_path, start="fresh") == 0


def test_without_a_checkpoint_a_training_starts_over_and_does_not_ask(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(Stop, match="step 2"):
        go(corpus, tmp_path, "examples=40", stop=2)
    assert go(corpus, tmp_path) == 0


@pytest.mark.parametrize("where", ["local", "remote"])
def test_a_named_storage_keeps_its_checkpoints(
    corpus: Corpus, tmp_path: Path, remote: str, where: str
) -> None:
    storage = str(tmp_path / "storage") if where == "local" else remote
    named = f"workers.storage={storage}"
    with pytest.raises(Stop, match="step 6"):
        go(corpus, tmp_path / "model", named, stop=6)
    with pytest.raises(
        InputError, match=r"holds another training: its examples is 48, not 40 \(name another"
    ):
        go(corpus, tmp_path / "model", named, "examples=40")
    assert go(corpus, tmp_path / "model", named, start="resume") == 4
    assert {name for name in Location.of(storage).names() if name[0] != "."} == {
        "run.json",
        "log.json",
        "step-00000004",
        "step-00000008",
    }
    for start in ("new", "resume"):
        with pytest.raises(
            InputError, match=r"the training there is finished \(pass --fresh to train anew\)"
        ):
            go(corpus, tmp_path / "model", named, start=start)
    before = digest(tmp_path / "model")
    assert go(corpus, tmp_path / "model", named, start="fresh") == 0
    assert digest(tmp_path / "model") == before


def test_a_remote_model_folder_gets_the_model(corpus: Corpus, remote: str) -> None:
    to = f"{remote}/model"
    trained = train(recipe(), corpus, to)
    assert Location.of(to).names() == ["bag"]
    assert verify(trained.folder, kind="bag").meta["corpus"] == corpus.version


def test_a_damaged_checkpoint_is_named_with_the_one_that_is_whole(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(Stop, match="step 7"):
        go(corpus, tmp_path, "training.checkpoint_every=2", stop=7)
    shard = tmp_path / ".bag.training" / "step-00000006" / "shard-00000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    with pytest.raises(
        IntegrityError, match=r"step-00000006/shard.*damaged.*to resume from step-00000004, which is"
    ):
        go(corpus, tmp_path, "training.checkpoint_every=2", start="resume")


def test_two_processes_do_not_train_in_one_folder(corpus: Corpus, tmp_path: Path) -> None:
    with (
        open_session(recipe(), corpus, tmp_path, LaunchOptions()),
        pytest.raises(BusyError, match=rf"process {os.getpid()} is at work here"),
        open_session(recipe(), corpus, tmp_path, LaunchOptions()),
    ):
        pass


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("nan", r"^training: the loss became nan in step 6 "),
        ("full", r"model: no space left on the device \(free some space"),
    ],
)
def test_an_error_is_a_sentence_and_leaves_the_last_checkpoint(
    corpus: Corpus, tmp_path: Path, what: str, sentence: str
) -> None:
    mark = tmp_path / "mark"
    mishap = f"mishap={json.dumps({'what': what, 'step': 5, 'marked': str(mark)})}"
    with pytest.raises(CociteError, match=sentence):
        go(corpus, tmp_path / "model", mishap)
    assert go(corpus, tmp_path / "model", mishap, start="resume") == 4


def test_a_corpus_that_is_replaced_before_the_workers_open_it_is_an_error(tmp_path: Path) -> None:
    store = build(Synthetic(60, seed=11), tmp_path / "store")
    with open_session(recipe(), store, tmp_path / "model", LaunchOptions()) as session:
        build(Synthetic(60, seed=12), tmp_path / "store", replace=True)
        sentence = rf"store: is version \w+ now, and the training began with {store.version} \(the corpus was replaced"
        with pytest.raises(CociteError, match=sentence):
            session.train(ProgressFunctions())


def test_a_folder_that_the_model_may_not_replace_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "notes.txt").touch()
    with pytest.raises(InputError, match=r"bag: is not empty and holds no model, so it is not replaced"):
        go(corpus, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


def test_several_workers_get_ddp_unless_a_backend_was_chosen() -> None:
    assert resolve_backend(recipe(), 1).training.backend == "plain"
    assert resolve_backend(recipe(), 2).training.backend == "ddp"
    assert resolve_backend(recipe("training.backend=deepspeed"), 2).training.backend == "deepspeed"
    with pytest.raises(
        ConfigError, match=r"training\.backend: .*plain trains on one worker, and there are 2"
    ):
        resolve_backend(recipe("training.backend=plain"), 2)


def add_note(recipe: Any, corpus: Corpus, folder: Path, artifact: Path, stage: Any) -> dict[str, Any]:
    """Stands in for a kind's ``after`` function."""
    stage("comparing", 0)
    meta = read_manifest(artifact, kind="bag").meta
    assert (recipe.kind, folder.is_dir()) == ("bag", True)
    return {"notes": [*meta["notes"], f"compared at step {meta['step']}"], "papers": len(corpus)}


def test_a_kinds_function_after_training_adds_to_the_manifest(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(recipe(), corpus, tmp_path / "plain")
    module = ModuleType("after_training")
    module.add_note = add_note  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "after_training", module)
    monkeypatch.setitem(KINDS, "bag", replace(KINDS["bag"], after="after_training:add_note"))
    stages: list[str] = []
    functions = ProgressFunctions(stage=lambda description, _: stages.append(description))
    trained = train(recipe(), corpus, tmp_path / "model", functions)
    plain, manifest = verify(tmp_path / "plain" / "bag"), verify(trained.folder, kind="bag")
    assert manifest.files == plain.files
    assert manifest.meta["notes"] == [*plain.meta["notes"], f"compared at step {manifest.meta['step']}"]
    assert manifest.meta == {**plain.meta, "notes": manifest.meta["notes"], "papers": len(corpus)}
    assert stages[-2:] == ["fetching the model", "comparing"]


def test_a_session_records_the_mlflow_run_for_the_training_that_resumes(
    corpus: Corpus, tmp_path: Path
) -> None:
    with open_session(recipe(), corpus, tmp_path, LaunchOptions()) as session:
        assert (session.is_first, session.mlflow_run) == (True, "")
        session.set_mlflow_run("")
        session.set_mlflow_run("a1b2")
    with open_session(recipe(), corpus, tmp_path, LaunchOptions(start="resume")) as session:
        assert session.mlflow_run == "a1b2"


def test_an_encoder_that_is_not_available_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    @dataclass
    class Recipe:
        encoder: str

    _require_encoder(Recipe(str(tmp_path)), LaunchOptions(on="process"))
    _require_encoder(Recipe("nobody/nothing"), LaunchOptions(on="ray", address="auto"))  # workers may have it
    with pytest.raises(NotFoundError, match="nobody/nothing"):
        _require_encoder(Recipe("nobody/nothing"), LaunchOptions(on="ray"))


@pytest.mark.integration
def test_under_torchrun_all_its_processes_train(
    corpus: Corpus, reference: tuple[dict[int, float], Any], tmp_path: Path
) -> None:
    started = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    done = subprocess.run(
        started + train_command(corpus, tmp_path, "--no-track", "--json")[2:],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)  # one process speaks for both
    losses = {entry["step"]: entry["loss"] for entry in answer["steps"] if "loss" in entry}
    assert losses == pytest.approx(reference[0], rel=1e-4)
    np.testing.assert_allclose(weights_of(tmp_path / "model"), reference[1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("count", ["9", "[2, 9]"])
def test_more_workers_than_a_step_has_examples_are_refused_before_anything_starts(
    count: str, corpus: Corpus, tmp_path: Path
) -> None:
    ours = recipe(f"workers.count={count}")
    with (
        pytest.raises(ConfigError, match=r"^training\.batch: a step of 8 examples cannot be .* 9 workers"),
        open_session(ours, corpus, tmp_path / "model", LaunchOptions(on="ray")),
    ):
        pass
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(("gpus", "device"), [("0", "cpu"), ("null", "cuda"), ("1", "cuda")])
def test_without_gpus_a_process_trains_on_its_cpu(
    gpus: str, device: str, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    with open_session(recipe(f"workers.gpus={gpus}"), corpus, tmp_path, LaunchOptions()) as session:
        assert session.world.device.type == device  # type: ignore[attr-defined]
