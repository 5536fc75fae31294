"""Trainings on real Ray workers: the same numbers as in one process, whatever is killed on the way."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bag_runs import (
    STEPS,
    TWO_WORKERS,
    helpers_environment,
    long_recipe,
    train_bag,
    train_command,
    training_at,
    weights_of,
)
from helpers.small_citeomatic import small_nnrank, train_small_citeomatic
from helpers.synthetic import SyntheticCorpora
from ray.exceptions import RayError
from ray.train import ControllerError, WorkerGroupError
from ray.train.v2._internal.exceptions import WorkerGroupStartupTimeoutError

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster import connection
from cocite_jobs.training.on_ray import (
    _BackgroundCall,
    _result,
    _start_retries,
    _variables,
)
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.train import open_session
from cocite_jobs.training.types import LaunchOptions

pytestmark = pytest.mark.usefixtures("bag_kind")
DEEPSPEED = [*TWO_WORKERS, "training.backend=deepspeed"]


@pytest.mark.integration
@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize(
    "overrides",
    [
        ["workers.count=1"],
        TWO_WORKERS,
        # The two between are checked without Ray, in tests/integration/test_engine_processes.py.
        pytest.param([*DEEPSPEED, "training.zero=1"], marks=pytest.mark.thorough),
        pytest.param([*DEEPSPEED, "training.zero=2"], marks=pytest.mark.thorough),
        [*DEEPSPEED, "training.zero=3"],
    ],
    ids=["one", "ddp", "zero1", "zero2", "zero3"],
)
def test_workers_give_the_curve_of_one_process(
    overrides: list[str], corpus: Corpus, reference: tuple[dict[int, float], Any], tmp_path: Path
) -> None:
    result, losses = train_bag(corpus, tmp_path, *overrides)
    assert losses == pytest.approx(reference[0], rel=1e-3)
    np.testing.assert_allclose(weights_of(tmp_path), reference[1], rtol=1e-3, atol=1e-4)
    assert result.folder == tmp_path / "bag"
    assert verify(result.folder, kind="bag").meta["step"] == result.details["best_step"]
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]  # no checkpoint is left


@pytest.mark.integration
@pytest.mark.usefixtures("ray_here")
def test_a_worker_of_a_cluster_compares_the_trained_model_as_this_process_does(
    synthetic: SyntheticCorpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = synthetic(300, seed=3, split=(3, 1))
    train_small_citeomatic(corpus, tmp_path / "here")
    shutil.copytree(tmp_path / "here" / "nnselect", tmp_path / "there" / "nnselect")
    stages: list[str] = []
    monkeypatch.setattr(connection, "_private", False)  # as in a process that has joined a cluster
    recipe = small_nnrank("workers.count=1")
    with open_session(recipe, corpus, tmp_path / "there", LaunchOptions()) as session:
        session.train(ProgressFunctions(stage=lambda name, _: stages.append(name)))
    assert stages[-3:] == ["starting a worker", "preparing", "comparing with the stages before"]
    here, there = (verify(tmp_path / where / "nnrank") for where in ("here", "there"))
    assert there.files == here.files
    assert {stage["kind"] for stage in there.meta["stages"]} == {"local", "global"}
    for name in ("stages", "notes", "left_out"):
        assert there.meta[name] == here.meta[name]
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == [
        "nnrank",
        "nnselect",
        "paper-words",
    ]


@pytest.mark.integration
@pytest.mark.usefixtures("ray_here")
def test_a_killed_worker_is_replaced_and_changes_nothing(
    corpus: Corpus, reference: tuple[dict[int, float], Any], tmp_path: Path
) -> None:
    draw = random.Random(20)
    mishap = {"what": "kill", "rank": draw.randrange(2), "step": draw.randrange(4, STEPS)}
    mishap["marked"] = str(tmp_path / "killed")
    # An elastic run: from one worker to two, here always two.
    _, losses = train_bag(
        corpus,
        tmp_path / "model",
        "workers.count=[1, 2]",
        "workers.timeout=300",
        f"mishap={json.dumps(mishap)}",
    )
    assert (tmp_path / "killed").exists()
    assert losses == pytest.approx(reference[0], rel=1e-4)
    np.testing.assert_allclose(weights_of(tmp_path / "model"), reference[1], rtol=1e-4, atol=1e-6)


@pytest.mark.integration
@pytest.mark.usefixtures("ray_here")
def test_an_error_of_a_worker_is_one_sentence_and_is_not_tried_again(corpus: Corpus, tmp_path: Path) -> None:
    mishap = json.dumps({"what": "nan", "rank": 1, "step": 7})
    with pytest.raises(
        CociteError, match=r"^training: the loss became nan in step 8 \(lower optimizer"
    ) as caught:
        train_bag(corpus, tmp_path, *TWO_WORKERS, f"mishap={mishap}")
    assert caught.value.__cause__ is None
    kept = sorted(path.name for path in (tmp_path / ".bag.training").glob("step-*"))
    assert kept[-1] == "step-00000006"  # the last good checkpoint
    with pytest.raises(
        InputError, match=r"holds another training: its mishap\.\w+ is .*, not None \(name another"
    ):
        train_bag(corpus, tmp_path, on="process", start="resume")


@pytest.mark.integration
@pytest.mark.usefixtures("ray_here")
def test_more_gpus_than_there_are_are_refused_at_once(corpus: Corpus, tmp_path: Path) -> None:
    stages: list[str] = []
    options = LaunchOptions(on="ray")
    with open_session(long_recipe(*TWO_WORKERS, "workers.gpus=1"), corpus, tmp_path, options) as session:
        sentence = r"workers: 2 x 1 GPU are asked for, and the cluster has 0 \(lower"
        with pytest.raises(InputError, match=sentence):
            session.train(ProgressFunctions(stage=lambda name, _: stages.append(name)))
    assert stages == ["starting Ray"]


@pytest.mark.integration
@pytest.mark.thorough
def test_a_killed_driver_is_resumed_in_the_same_mlflow_run(
    corpus: Corpus, reference: tuple[dict[int, float], Any], tmp_path: Path
) -> None:
    environment = helpers_environment()
    environment.pop("MLFLOW_TRACKING_URI", None)
    slow = train_command(corpus, tmp_path, "pause=0.3")
    with training_at(9, slow, tmp_path, environment) as driver:
        driver.send_signal(signal.SIGKILL)
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
    losses = {entry["step"]: entry["loss"] for entry in answer["steps"] if "loss" in entry}
    assert losses == pytest.approx(
        reference[0], rel=1e-4
    )  # steps before the kill and after it, whether or not their events had reached the killed driver
    np.testing.assert_allclose(weights_of(tmp_path / "model"), reference[1], rtol=1e-4, atol=1e-6)
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    [run_info] = client.search_runs([client.get_experiment_by_name("train").experiment_id])
    assert (run_info.info.run_id, run_info.info.status) == (run, "FINISHED")
    history = {m.step: m.value for m in client.get_metric_history(run, "loss")}
    assert len(client.get_metric_history(run, "loss")) == len(history) == STEPS
    assert history == pytest.approx(reference[0], rel=1e-4)
    names = {artifact.path for artifact in client.list_artifacts(run, "bag")}
    assert names == {"bag/manifest.json", "bag/model.safetensors"}


@pytest.mark.integration
@pytest.mark.usefixtures("ray_here")
def test_workers_that_find_no_room_are_placed_again_and_again(corpus: Corpus, tmp_path: Path) -> None:
    import ray

    class Holder:
        def end(self) -> None:
            ray.actor.exit_actor()

    cpus = ray.cluster_resources()["CPU"]
    holder = ray.remote(num_cpus=cpus)(Holder).remote()
    ray.get(holder.__ray_ready__.remote())
    short = ["workers.count=1", "workers.start_timeout=0.5"]
    with pytest.raises(CociteError, match=r"did not get their resources in 0\.5 s, 2 times \(is the cluster"):
        train_bag(corpus, tmp_path / "given up", *short, "workers.timeout=1", "workers.retries=0")
    release = threading.Timer(5, holder.end.remote)
    release.start()
    try:
        _, losses = train_bag(
            corpus, tmp_path / "for ever", *short, "workers.timeout=1", "workers.retries=-1"
        )
    finally:
        release.join()
    assert sorted(losses) == list(range(1, STEPS + 1))


def test_a_start_has_a_timeout_of_its_own() -> None:
    variables = _variables(WorkerSettings(timeout=600, start_timeout=45))
    assert variables["RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S"] == "45"
    assert variables["RAY_TRAIN_COLLECTIVE_TIMEOUT_S"] == "600"
    assert WorkerSettings().start_timeout <= 60


@pytest.mark.parametrize(
    ("retries", "timeout", "attempts"), [(-1, 600, None), (0, 600, 10), (3, 60, 4), (0, 601, 11), (0, 1, 1)]
)
def test_a_start_is_tried_until_the_timeout_or_for_ever(
    retries: int, timeout: float, attempts: int | None
) -> None:
    again = _start_retries(WorkerSettings(retries=retries, timeout=timeout, start_timeout=60))
    assert again == (-1 if attempts is None else attempts - 1)


@pytest.mark.integration
@pytest.mark.parametrize("on", ["process", "ray"])
def test_sigterm_keeps_a_checkpoint_of_the_very_step(corpus: Corpus, tmp_path: Path, on: str) -> None:
    command = train_command(corpus, tmp_path, "pause=0.3", "--on", on, "--no-track")
    log, folder = tmp_path / "log.txt", tmp_path / "model/.bag.training"
    with training_at(3, command, tmp_path, helpers_environment()) as driver:
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(timeout=300) == 143, log.read_text()
    newest = sorted(path.name for path in folder.glob("step-*"))[-1]
    said = f"training: stopped after step {int(newest[5:])}; its checkpoint is kept (pass --resume"
    assert said in log.read_text()
    verify(folder / newest, kind="training-checkpoint")


class Call:
    """A call in the background that has ended."""

    def __init__(self, error: Exception | None = None, value: Any = None) -> None:
        self.error, self.value = error, value


def failure(text: str) -> Exception:
    """An error that a worker's function raised, as Ray Train wraps it."""
    error = RuntimeError(text)
    error._base_exc = ValueError(text)  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (
            ControllerError(CociteError("no", where="training")),
            CociteError,
            "^training: no$",
        ),
        (
            ControllerError(WorkerGroupStartupTimeoutError(2)),
            CociteError,
            r"^workers: the workers did not get their resources in 20 s, 4 times \(is the cluster busy",
        ),
        (ControllerError(ZeroDivisionError("a defect")), ControllerError, "a defect"),
        (
            WorkerGroupError("failed", {0: failure("line\na defect"), 1: failure("line\na defect")}),
            RuntimeError,
            "^a worker failed:\nline\na defect$",
        ),
        (
            WorkerGroupError("failed", {0: failure("line\nrank 1 is gone"), 1: RuntimeError("died")}),
            CociteError,
            r"^workers: a worker died once more, after 3 retries; another said: rank 1 is gone \(out of",
        ),
        (
            WorkerGroupError("failed", {1: RuntimeError("died")}),
            CociteError,
            r"^workers: a worker died once more, after 3 retries \(out of memory",
        ),
        (
            RayError("the head is gone\nmore"),
            CociteError,
            "^workers: the cluster was lost: the head is gone ",
        ),
        (KeyError("a defect"), KeyError, "a defect"),
    ],
)
def test_the_error_behind_rays_error_is_raised(
    error: Exception, kind: type[Exception], sentence: str
) -> None:
    workers = WorkerSettings(count=2, timeout=60, start_timeout=20, retries=3)
    with pytest.raises(kind, match=sentence):
        _result(Call(error), workers)  # type: ignore[arg-type]


def test_the_result_of_rank_0_is_returned() -> None:
    @dataclass
    class Result:
        return_value: dict[str, int]

    assert _result(Call(value=Result({"steps": 3})), WorkerSettings()) == {"steps": 3}  # type: ignore[arg-type]


def test_a_call_in_the_background_can_be_waited_for() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        go_on.wait()
        return 3

    call = _BackgroundCall(work)
    begun.wait()
    assert not call.wait(0)
    go_on.set()
    assert call.wait(60)
    assert (call.value, call.error) == (3, None)

    def fail() -> None:
        raise ZeroDivisionError("a defect")

    call = _BackgroundCall(fail)
    assert call.wait(60)
    assert str(call.error) == "a defect"
