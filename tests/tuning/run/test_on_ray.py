"""Trials on a real Ray: restarted after a death, ended by ASHA, and resumed when driver and Ray were killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.sweeps import run_tracked, trial_runs

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.connection import ray_connection
from cocite_tuning.run.callback import SweepCallback
from cocite_tuning.run.driver import FinishedSweep
from cocite_tuning.run.on_ray import _trial_resources
from cocite_tuning.sweep.trials import Trials

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_store")]

TESTS = Path(__file__).parents[2]
SWEEP: dict[str, Any] = {
    "name": "toy",
    "study": {"kind": "toy", "light": False, "steps": 3},
    "space": {"x": {"uniform": [-3, 3]}},
    "metric": {"name": "height"},
    "retries": 1,
}
DRIVER = "from helpers import toy_study; toy_study.register(); from cocite.cli import main; main()"
WAIT_S = 300


@pytest.fixture(scope="module", autouse=True)
def _ray() -> Iterator[None]:
    """One Ray for all sweeps here but the one that it is killed with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])))
        with ray_connection("local"):
            yield


def sweep(
    small: Corpus, to: Path, how: str = "new", callback: SweepCallback | None = None, **changed: Any
) -> FinishedSweep:
    return run_tracked(SWEEP | changed, small, to, how, callback)


def test_failed_trials_are_restarted_or_recorded_and_the_sweep_continues(small: Corpus, empty: Path) -> None:
    troubles = ["none", "input", "defect", "death", "deaths"]
    restarted: list[int] = []
    finished = sweep(
        small,
        empty,
        callback=SweepCallback(on_trial_restart=restarted.append),
        start=[{"trouble": trouble} for trouble in troubles],
        budget={"trials": 6},
        keep=6,
    )
    by_trouble = {trial.params.get("trouble", "drawn"): trial for trial in finished.trials.trials}
    assert {name: trial.state for name, trial in by_trouble.items()} == {
        "none": "finished",
        "input": "failed",  # at once: a retry would fail alike
        "defect": "failed",
        "death": "finished",
        "deaths": "failed",
        "drawn": "finished",
    }
    assert by_trouble["input"].error == "toy: x is not to its liking"
    assert by_trouble["defect"].error == "ZeroDivisionError: a defect"
    assert by_trouble["deaths"].error == "its process died once more, after all retries"
    death, deaths = by_trouble["death"].number, by_trouble["deaths"].number
    assert sorted(restarted) == sorted([by_trouble["defect"].number, death, deaths])
    assert len((empty / "trials" / f"{death:04d}" / "log").read_text().splitlines()) == 2
    assert [step for step, _ in by_trouble["death"].curve] == [1, 2, 3]  # each step once
    runs = trial_runs(empty.parent, finished.run_id)
    assert len(runs) == 6
    assert not (empty / ".tune").exists()


def test_asha_ends_what_is_behind(small: Corpus, empty: Path) -> None:
    finished = sweep(
        small,
        empty,
        study={"kind": "toy", "light": False, "steps": 9},
        start=[{"x": 1.0}, {"x": 1.1}, {"x": -8.0}],
        budget={"trials": 3, "concurrency": 1},
        scheduler={"kind": "asha", "grace": 2, "reduction": 2, "longest": 8},
    )
    assert [trial.state for trial in finished.trials.trials] == ["finished", "stopped", "stopped"]
    stopped = finished.trials.trials[2]
    assert [step for step, _ in stopped.curve] == [1, 2]
    assert stopped.metrics["height"] == pytest.approx(-9 * 1.5)
    assert finished.best.number == 0
    assert trial_runs(empty.parent, finished.run_id)["trial 0002"].data.tags["state"] == "stopped"


def test_a_sweep_continues_after_driver_and_ray_were_killed(small: Corpus, empty: Path) -> None:
    ours = SWEEP | {"study": SWEEP["study"] | {"seconds": 0.2}, "budget": {"trials": 6}}
    file = empty.parent / "toy.yaml"
    file.write_text(json.dumps(ours))
    command = [
        sys.executable,
        "-c",
        DRIVER,
        "tune",
        str(file),
        "--corpus",
        str(small.path),
        "--to",
        str(empty),
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    with (empty.parent / "log.txt").open("w") as log:
        driver = subprocess.Popen(
            command, cwd=empty.parent, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        deadline = time.monotonic() + WAIT_S
        while not (_ended(empty) >= 2 and _under_way(empty)):
            assert driver.poll() is None, (empty.parent / "log.txt").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for process in [*_descendants(driver.pid), driver.pid]:
            _kill(process)
        driver.wait(WAIT_S)
    before = Trials.read(empty / "trials.json").trials
    assert 2 <= len(before) < 6
    finished = sweep(small, empty, "resume", **{key: ours[key] for key in ("study", "budget")})
    assert len(finished.trials.trials) == 6
    kept = {trial.number: trial for trial in finished.trials.trials}
    assert all(kept[trial.number] == trial for trial in before)
    assert all(trial.state == "finished" for trial in finished.trials.trials)
    runs = trial_runs(empty.parent, finished.run_id)
    assert sorted(runs) == [f"trial {number:04d}" for number in range(6)]
    assert {run.info.status for run in runs.values()} == {"FINISHED"}


@pytest.mark.thorough
def test_a_trial_may_be_a_training_of_several_workers(small: Corpus, empty: Path) -> None:
    import ray

    recipe = {
        "model": {"dimension": 8, "heads": 2, "feed_forward": 8},
        "paragraphs": {"vocabulary_size": 400, "least": 1},
        "words.source": "random",
        "objective.bag_epochs": 0,
        "training": {"epochs": 6, "batch": 32, "precision": "fp32", "evaluate_every": 2},
    }
    finished = sweep(
        small,
        empty,
        study={"kind": "training", "recipe": "hatten", "set": recipe},
        space={
            "training.optimizer.learning_rate": {"choice": [1e-2, 1e-9]},
            "paragraphs.vocabulary_size": {"choice": [300, 400]},
        },
        start=[
            # With texts of its own, which a task makes beside the trial.
            {"training.optimizer.learning_rate": 1e-2, "paragraphs.vocabulary_size": 300},
            {"training.optimizer.learning_rate": 1e-9},
            {"training.optimizer.learning_rate": 1e-9},
        ],
        metric={"name": "R@100"},
        budget={"trials": 3, "concurrency": 1},
        resources={"workers": 2, "cpus": 0.5},
        scheduler={"kind": "asha", "grace": 4, "reduction": 2, "longest": 8},
    )
    # The third had room, so the second, ended from outside, had released its workers' resources.
    assert [trial.state for trial in finished.trials.trials] == ["finished", "stopped", "stopped"]
    assert finished.model is not None
    assert (finished.model / "hatten" / "model.safetensors").is_file()
    deadline = time.monotonic() + 60
    while ray.available_resources().get("CPU") != ray.cluster_resources()["CPU"]:
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_a_trial_that_no_node_can_hold_is_refused(small: Corpus, empty: Path) -> None:
    with pytest.raises(InputError, match="1 x 999 CPU are asked for"):
        sweep(small, empty, resources={"cpus": 999})


def test_a_trial_of_one_worker_runs_on_the_type_of_gpu_that_it_names(small: Corpus, empty: Path) -> None:
    study = {"kind": "training", "recipe": "hatten", "set": {"workers.accelerator": "H100"}}
    neural = {"study": study, "space": {"training.epochs": {"choice": [1, 2]}}, "metric": {"name": "MRR"}}
    for resources, sentence in (({}, "1 x 1 GPU are"), ({"gpus": 0}, r"1 x 0.001 accelerator_type:H100 are")):
        with pytest.raises(InputError, match=sentence):
            sweep(small, empty, "fresh", resources=resources, **neural)
    reserved = {"cpu": 2, "gpu": 0.5, "accelerator_type:H100": 0.001}
    assert _trial_resources(WorkerSettings(cpus=2, gpus=0.5, accelerator="H100")) == reserved


def _ended(folder: Path) -> int:
    return len(Trials.read(folder / "trials.json").trials) if (folder / "trials.json").is_file() else 0


def _under_way(folder: Path) -> bool:
    path = folder / "under_way.json"
    return path.is_file() and bool(json.loads(path.read_text()))


def _descendants(process: int) -> list[int]:
    """Ids of all processes that a process started, and those that they did."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found, new = [], [process]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
