"""Neural trainings on real Ray workers: the same numbers as in one process, whatever dies on the way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import bag_recipe as bag
from helpers.bag_recipe import BagRecipe
from safetensors.numpy import load_file

from cocite.artifacts import verify
from cocite.config import with_overrides
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import CociteError, InputError
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.train import open_session
from cocite_jobs.training.types import LaunchOptions, TrainedArtifact

pytestmark = pytest.mark.integration

TESTS = Path(__file__).parents[1]
STEPS = 18
TRAINING: dict[str, Any] = {
    "steps": STEPS, "batch": 8, "tokens": 20, "sort_within": 2, "log_every": 1, "refresh_every": 1,
    "evaluate_every": 6, "checkpoint_every": 3,
    "optimizer": {"learning_rate": 0.02, "weight_decay": 0.1, "clip": 0.5},
}  # fmt: skip
TWO = ["workers.count=2", "workers.timeout=300"]


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """One Ray for the tests that do not end it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS))
        with ray_connection("local"):
            yield


@pytest.fixture(scope="module", autouse=True)
def kind() -> Iterator[None]:
    bag.enter()
    yield
    bag.KINDS.pop("bag")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(60, seed=11), tmp_path_factory.mktemp("synth") / "store")


def recipe(*overrides: str) -> BagRecipe:
    return BagRecipe.parse(with_overrides({"kind": "bag", "training": TRAINING}, overrides))


def trained(
    corpus: Corpus, to: Path, *overrides: str, on: str = "ray", start: str = "new"
) -> tuple[TrainedArtifact, dict[int, float]]:
    """A training, and its loss at each step; each step is told once."""
    losses: dict[int, float] = {}

    def log(metrics: dict[str, float], step: int) -> None:
        if "loss" in metrics:
            assert step not in losses
            losses[step] = metrics["loss"]

    with open_session(recipe(*overrides), corpus, to, LaunchOptions(on=on, start=start)) as training:  # type: ignore[arg-type]
        return training.train(ProgressFunctions(log=log)), losses


def weights(folder: Path) -> Any:
    found = load_file(folder / "bag" / "model.safetensors")
    return np.concatenate([found[name].ravel() for name in sorted(found)])


@pytest.fixture(scope="module")
def reference(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[int, float], Any]:
    """Losses and weights of an uninterrupted training in this process."""
    folder = tmp_path_factory.mktemp("reference")
    _, losses = trained(corpus, folder, on="process")
    assert sorted(losses) == list(range(1, STEPS + 1))
    assert losses[STEPS] < losses[1] / 3
    return losses, weights(folder)


@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize(
    "overrides",
    [
        ["workers.count=1"],
        TWO,
        [*TWO, "training.backend=deepspeed", "training.zero=1"],
        [*TWO, "training.backend=deepspeed", "training.zero=2"],
        [*TWO, "training.backend=deepspeed", "training.zero=3"],
    ],
    ids=["one", "ddp", "zero1", "zero2", "zero3"],
)
def test_workers_give_the_curve_of_one_process(
    overrides: list[str], corpus: Corpus, reference: tuple[dict[int, float], Any], tmp_path: Path
) -> None:
    result, losses = trained(corpus, tmp_path, *overrides)
    assert losses == pytest.approx(reference[0], rel=1e-3)
    np.testing.assert_allclose(weights(tmp_path), reference[1], rtol=1e-3, atol=1e-4)
    assert result.folder == tmp_path / "bag"
    assert verify(result.folder, kind="bag").meta["step"] == result.details["best_step"]
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]  # no checkpoint is left


@pytest.mark.usefixtures("ray_here")
def test_a_killed_worker_is_replaced_and_changes_nothing(
    corpus: Corpus, reference: tuple[dict[int, float], Any], tmp_path: Path
) -> None:
    draw = random.Random(20)
    mishap = {"what": "kill", "rank": draw.randrange(2), "step": draw.randrange(4, STEPS)}
    mishap["marked"] = str(tmp_path / "killed")
    # An elastic run: from one worker to two, here always two.
    _, losses = trained(
        corpus,
        tmp_path / "model",
        "workers.count=[1, 2]",
        "workers.timeout=300",
        f"mishap={json.dumps(mishap)}",
    )
    assert (tmp_path / "killed").exists()
    assert losses == pytest.approx(reference[0], rel=1e-4)
    np.testing.assert_allclose(weights(tmp_path / "model"), reference[1], rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("ray_here")
def test_an_error_of_a_worker_is_one_sentence_and_is_not_tried_again(corpus: Corpus, tmp_path: Path) -> None:
    mishap = json.dumps({"what": "nan", "rank": 1, "step": 7})
    with pytest.raises(
        CociteError, match=r"^training: the loss became nan in step 8 \(lower optimizer"
    ) as caught:
        trained(corpus, tmp_path, *TWO, f"mishap={mishap}")
    assert caught.value.__cause__ is None
    kept = sorted(path.name for path in (tmp_path / ".bag.training").glob("step-*"))
    assert kept[-1] == "step-00000006"  # the last good checkpoint
    with pytest.raises(
        InputError, match=r"holds another training: its mishap\.\w+ is .*, not None \(name another"
    ):
        trained(corpus, tmp_path, on="process", start="resume")


@pytest.mark.usefixtures("ray_here")
def test_more_than_there_is_is_refused_at_once(corpus: Corpus, tmp_path: Path) -> None:
    stages: list[str] = []
    manner = LaunchOptions(on="ray")
    with open_session(recipe(*TWO, "workers.gpus=1"), corpus, tmp_path, manner) as training:
        sentence = r"workers: 2 x 1 GPU are asked for, and the cluster has 0 \(lower"
        with pytest.raises(InputError, match=sentence):
            training.train(ProgressFunctions(stage=lambda name, _: stages.append(name)))
    assert stages == ["starting Ray"]


def command(corpus: Corpus, folder: Path, *arguments: str) -> list[str]:
    file = folder / "bag.yaml"
    file.write_text(json.dumps({"kind": "bag", "training": TRAINING}))
    return [
        *(sys.executable, "-m", "helpers.bag_recipe", "train", str(file), "--corpus", str(corpus.path)),
        *("--to", str(folder / "model"), *arguments),
    ]


def test_a_killed_driver_is_resumed_in_the_same_mlflow_run(
    corpus: Corpus, reference: tuple[dict[int, float], Any], tmp_path: Path
) -> None:
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    environment.pop("MLFLOW_TRACKING_URI", None)
    slow = command(corpus, tmp_path, "pause=0.3")
    log = tmp_path / "log.txt"
    with log.open("w") as file:
        driver = subprocess.Popen(slow, cwd=tmp_path, env=environment, stdout=file, stderr=file)
        deadline = time.monotonic() + 600
        while not (tmp_path / "model/.bag.training/step-00000009").is_dir():
            assert driver.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    run = json.loads((tmp_path / "model/.bag.training/run.json").read_text())["mlflow"]

    def cocite(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*slow, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    done = cocite("--resume", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    told = {entry["step"]: entry["loss"] for entry in answer["steps"] if "loss" in entry}
    assert told == pytest.approx(
        reference[0], rel=1e-4
    )  # what the killed driver had heard, and what it had not
    np.testing.assert_allclose(weights(tmp_path / "model"), reference[1], rtol=1e-4, atol=1e-6)
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    [found] = client.search_runs([client.get_experiment_by_name("train").experiment_id])
    assert (found.info.run_id, found.info.status) == (run, "FINISHED")
    history = {m.step: m.value for m in client.get_metric_history(run, "loss")}
    assert len(client.get_metric_history(run, "loss")) == len(history) == STEPS
    assert history == pytest.approx(reference[0], rel=1e-4)
    names = {artifact.path for artifact in client.list_artifacts(run, "bag")}
    assert names == {"bag/manifest.json", "bag/model.safetensors"}


def test_under_torchrun_all_its_processes_train(
    corpus: Corpus, reference: tuple[dict[int, float], Any], tmp_path: Path
) -> None:
    started = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    done = subprocess.run(
        started + command(corpus, tmp_path, "--no-track", "--json")[2:],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)  # one process speaks for both
    losses = {entry["step"]: entry["loss"] for entry in answer["steps"] if "loss" in entry}
    assert losses == pytest.approx(reference[0], rel=1e-4)
    np.testing.assert_allclose(weights(tmp_path / "model"), reference[1], rtol=1e-4, atol=1e-6)
