"""Seconds from `cocite train --resume` to the first step that a killed training had not taken, by the number of papers.

    python -m benchmarks.training_restart --work DIR [--papers 100000 1000000] [--on process,ray,cluster]
                                         [--recipe hatten] [--set objective.mined=4]

For each size a synthetic corpus is made once. A training of the recipe begins, makes its inputs, and is killed with
SIGKILL once it has written a checkpoint and gone on. Then the same command with --resume is timed from its start to the
first line of a step beyond that checkpoint, --turns times, and killed again; the first turn compares nothing anew, for
the corpus and the inputs were compared with their SHA-256 when the training began. `mb` is the anonymous memory of the
process that trains: of the command, or of the worker of Ray. What is there is used again. Where it trains, --on: in the
command's process; on a Ray that the command starts (ray); on a Ray that runs already, as a cluster does (cluster).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psutil

from benchmarks._measured_process import machine, resident
from benchmarks.training_inputs import RECIPES
from cocite.ray_start import SEVERAL_MACHINES
from cocite_jobs.cluster.connection import LOCAL, ray_connection

EVERY = 10
"""Steps between two checkpoints."""
STEP = re.compile(r"step (\d+): loss")
TRAINER = "RayTrainWorker"
"""In the name of a worker of Ray that trains."""
ENDED_S = 60
"""Seconds within which a cluster ends the workers of a command that was killed."""


def command(recipe: str, settings: list[str], corpus: Path, model: Path, on: str) -> list[str]:
    """The command that trains, but for how it begins."""
    training = ["training.steps=100000", "training.log_every=1", f"training.checkpoint_every={EVERY}"]
    engine = "process" if on == "process" else "ray"
    options = ["--corpus", str(corpus), "--to", str(model), "--on", engine, "--no-track"]
    # The dev metric is not what is timed, and reads all papers.
    never = ["training.evaluate_every=100000"]
    return [
        sys.executable,
        "-m",
        "cocite",
        "train",
        recipe,
        *RECIPES[recipe],
        *settings,
        *training,
        *never,
        *options,
    ]


def steps(process: subprocess.Popen[str]) -> Iterator[int]:
    """The numbers of the steps that a training logs, as it logs them."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := STEP.search(line):
            yield int(found[1])
    sys.exit(f"the training ended by itself:\n{''.join(lines[-10:])}")


def trainers() -> list[psutil.Process]:
    """The workers that train: this process started them, its command or its Ray."""
    below = psutil.Process().children(recursive=True)
    return [one for one in below if one.is_running() and TRAINER in "".join(one.cmdline())]


def kill(process: subprocess.Popen[str]) -> None:
    """End a command and what it started, which is in its session; a cluster ends the workers that it gave."""
    workers = trainers()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if psutil.wait_procs(workers, timeout=ENDED_S)[1]:
        sys.exit("the cluster did not end the workers of the killed command")


@contextmanager
def running_cluster() -> Iterator[None]:
    """A Ray that runs already, which the commands in the block find by ``RAY_ADDRESS``."""
    with ray_connection(LOCAL):
        import ray

        os.environ |= {
            "RAY_ADDRESS": ray.get_runtime_context().gcs_address,
            SEVERAL_MACHINES: "0",  # its node is on the loopback address, also for its drivers
        }
        try:
            yield
        finally:
            del os.environ["RAY_ADDRESS"], os.environ[SEVERAL_MACHINES]


def trainer_memory(process: subprocess.Popen[str], on: str) -> float:
    """Anonymous MB of the worker that has the most of it, or of the command itself."""
    pids = [process.pid] if on == "process" else [one.pid for one in trainers()]
    return max(resident(pid).get("RssAnon", 0) for pid in pids) / 1e6


def last_checkpoint(model: Path) -> int:
    """The step of the last whole checkpoint of a training that was killed."""
    found = [int(path.name[5:]) for path in model.glob(".*.training/step-*")]
    return max(found) if found else sys.exit(f"{model}: killed before its first checkpoint")


def restarts(line: list[str], model: Path, on: str, turns: int) -> dict[str, Any]:
    """Begin a training, kill it, and time its restarts."""
    start: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}

    def run(how: str, done: int) -> tuple[float, float]:
        began = time.perf_counter()
        process = subprocess.Popen([*line, how], start_new_session=True, **start)
        try:
            # A resumed training first repeats the log of the steps up to its checkpoint.
            numbers = steps(process)
            first = last = next(step for step in numbers if step > done)
            seconds = time.perf_counter() - began
            # A checkpoint is written beside the steps; the one after it begins once it is whole.
            while last < first + 2 * EVERY:
                last = next(numbers)
            return seconds, trainer_memory(process, on)
        finally:
            kill(process)

    begun, _ = run("--fresh", 0)
    taken, resumed = [], []
    for _ in range(turns):
        resumed.append(last_checkpoint(model))
        taken.append(run("--resume", resumed[-1]))
    return {
        "begin_s": round(begun, 1),
        "resume_s": [round(seconds, 1) for seconds, _ in taken],
        "resumed_from": resumed,
        "mb": round(max(memory for _, memory in taken)),
    }


def main() -> None:
    """Measure each size, and print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", choices=RECIPES, default="hatten")
    parser.add_argument("--papers", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--on", default="process,ray")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="overrides of the recipe")
    parser.add_argument("--work", type=Path, required=True)
    given = parser.parse_args()
    print(json.dumps({"recipe": given.recipe, "set": given.set, **machine()}), flush=True)
    for papers in given.papers:
        corpus = given.work / f"corpus-{papers}"
        if not corpus.is_dir():
            synth = ["corpus", "synth", "--papers", str(papers), "--to", str(corpus)]
            subprocess.run([sys.executable, "-m", "cocite", *synth], check=True, stdout=subprocess.DEVNULL)
        for on in given.on.split(","):
            model = given.work / f"restarted-{given.recipe}-{papers}-{on}"
            line = command(given.recipe, given.set, corpus, model, on)
            with running_cluster() if on == "cluster" else nullcontext():
                result = restarts(line, model, on, given.turns)
            print(json.dumps({"papers": papers, "on": on, **result}), flush=True)


if __name__ == "__main__":
    main()
