"""Work that a task of a real Ray does for its driver, whatever happens to either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.bag_runs import TESTS, helpers_environment
from helpers.troubled_work import Trouble, work

from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError, NotFoundError, StoppedError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.storage.location import Location
from cocite_jobs.training import worker_task
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.worker_task import WorkerTask, run_on_worker

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def _ray_here() -> Iterator[None]:
    """One Ray, whose processes find the helpers, and were started in another folder than a test's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])))
        with ray_connection("local"):
            yield


class Told:
    """What a driver is told of the work."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int]] = []
        self.logged: list[tuple[dict[str, float], int]] = []
        self.count = 0
        self.progress = ProgressFunctions(
            log=lambda metrics, step: self.logged.append((metrics, step)),
            stage=lambda description, size: self.stages.append((description, size)),
            advance=self.advance,
        )

    def advance(self, count: int) -> None:
        self.count += count


@pytest.fixture
def run(corpus: Corpus, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Has a worker do the work in the test's folder, where it leaves its notes."""

    def on_worker(what: str, to: Path | str = tmp_path, lacks: str = "", **changed: Any) -> dict[str, Any]:
        settings = WorkerSettings.parse({key: changed[key] for key in ("cpus", "timeout") if key in changed})
        trouble = Trouble(what, tmp_path, lacks)  # type: ignore[arg-type]
        task = WorkerTask(partial(work, trouble), "seeking trouble", "do it again", ".trouble", settings)
        source = changed.get("source", str(corpus.path))
        return run_on_worker(task, corpus, source, Location.of(to), changed.get("progress", Told().progress))

    return on_worker


Run = Callable[..., dict[str, Any]]


def test_another_process_does_it_and_a_killed_one_is_replaced(
    run: Run, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()
    (tmp_path / "driver").mkdir()
    monkeypatch.chdir(tmp_path / "driver")
    result = run("killed once", progress=told.progress)
    first, second = map(int, (tmp_path / "begun").read_text().split())
    assert len({first, second, os.getpid()}) == 3
    assert result == {
        "process": second,
        "papers": len(corpus),
        "here": str(tmp_path / "driver"),  # relative paths mean what they mean to the driver
        "files": [".trouble", "begun", "driver", "ended"],
    }
    assert told.stages[0] == ("starting a worker", 0)
    assert told.stages[-1] == ("troubles", 7)
    assert (told.count, told.logged) == (7, [({"MRR": 0.5}, 2)])
    assert not (tmp_path / ".trouble").exists()


def test_a_task_that_dies_again_and_again_is_a_sentence(run: Run, tmp_path: Path) -> None:
    with pytest.raises(CociteError, match=r"a worker died once more, after 3 retries.* then do it again\)"):
        run("killed")
    assert len((tmp_path / "begun").read_text().split()) == 4
    assert not (tmp_path / ".trouble").exists()


def interrupt() -> None:
    raise KeyboardInterrupt("Ctrl-C")


@pytest.mark.parametrize(
    ("end", "error", "sentence"),
    [
        (interrupt, KeyboardInterrupt, "Ctrl-C"),
        (
            lambda: signal.raise_signal(signal.SIGTERM),
            StoppedError,
            r"^stopped while seeking trouble \(do it again\)$",
        ),
    ],
    ids=["ctrl-c", "sigterm"],
)
def test_the_end_of_the_driver_ends_the_task(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[[], None],
    error: type[BaseException],
    sentence: str,
) -> None:
    monkeypatch.setattr(worker_task, "END_S", 600)  # however busy this machine is
    progress = ProgressFunctions(stage=lambda description, _: end() if description == "troubles" else None)
    with pytest.raises(error, match=sentence):
        run("long", progress=progress)
    # The task could remove its temporary files: it has ended when the driver goes on.
    assert (tmp_path / "ended").exists()
    assert not (tmp_path / ".trouble").exists()


def test_a_task_that_loses_an_interrupt_is_interrupted_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_task, "END_S", 600)
    progress = ProgressFunctions(
        stage=lambda description, _: interrupt() if description == "troubles" else None
    )
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
        run("deaf once", progress=progress)
    assert (tmp_path / "ended").exists()


def test_a_command_that_ignores_interrupts_lets_its_task_clean_up_too(corpus: Corpus, tmp_path: Path) -> None:
    """A shell has what it starts in the background ignore SIGINT, and the workers of its Ray inherit that."""
    done = subprocess.run(
        [sys.executable, "-m", "helpers.interrupted_driver", str(corpus.path), str(tmp_path)],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        env=helpers_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ended").exists()


def test_what_the_task_does_not_see_is_a_sentence(run: Run, tmp_path: Path, remote: str) -> None:
    with pytest.raises(InputError, match=r"does not see the model folder \(name one that all nodes share"):
        run("nothing", remote)  # each process has a memory of its own
    with pytest.raises(NotFoundError, match="no/corpus: .*sees no such folder"):
        run("nothing", source="/no/corpus")
    seen = tmp_path / "vectors.txt"
    seen.touch()
    sentence = r"vectors\.txt: is here, and the machine that is seeking trouble does not see it \(put"
    with pytest.raises(InputError, match=sentence):
        run("lacks", lacks=str(seen))


def test_a_defect_of_the_work_is_raised_here(run: Run) -> None:
    with pytest.raises(ZeroDivisionError, match="a defect"):
        run("defect")


def test_the_task_has_the_resources_of_a_worker(run: Run, tmp_path: Path) -> None:
    import ray

    with pytest.raises(InputError, match="a worker needs 1000 CPU, and no node has them"):
        run("nothing", cpus=1000)
    # All cores are taken, and it does not wait longer than the workers of a training would.
    holder = ray.remote(num_cpus=ray.cluster_resources()["CPU"])(Told).remote()
    ray.get(holder.__ray_ready__.remote())
    with pytest.raises(CociteError, match="no worker got its resources in 1 s for seeking trouble"):
        run("nothing", timeout=1)
    ray.kill(holder)
    run("nothing")
    assert (tmp_path / "begun").read_text().count("\n") == 1
