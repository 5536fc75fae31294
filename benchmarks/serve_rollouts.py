"""Twenty releases one after the other under load, five of them broken: what clients get, and what is served in the end.

    .venv/bin/python -m benchmarks.serve_rollouts --index INDEX [--backbone FOLDER] [--rollouts 20] [--json FILE]

The model is all-MiniLM-L6-v2 with a head of random weights, registered in an MLflow on SQLite and served by an alias.
Every fourth release is broken, in turn: weights that are no numbers; weights that were never trained; a damaged index;
a reranker that is stopped while it answers the canary; a model of ten times as many layers. The others are a model
whose weights differ by some ten-thousandths, and an index without one paper. Eight clients ask, and pause after each
answer. One line for each release: the seconds until it was served or refused, the answers, those that were no 200, and
how many the release itself gave. The last line says of how many releases the outcome was the expected one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from transformers.utils import logging

from benchmarks._endpoint import endpoint
from benchmarks._releases import changed, nan, publish_without, random, same
from benchmarks.cross_encoder_scoring import minilm
from benchmarks.serve_deaths import replicas, wait_for
from benchmarks.serve_latency import requests
from benchmarks.serving import write_model
from cocite.cli.console import print_table
from cocite.corpus.store import Corpus
from cocite.pipeline import components
from cocite.pipeline.golden_queries import make_golden_queries
from cocite.retrieval.index.versions import VersionedFolder
from cocite_mlflow.registration import register_model

CLIENTS = 8
PAIRS = 2
"""Read for a request."""
PAUSE_S = 0.5
"""Of a client after each answer: two cores load and try a release beside them."""
OUTCOME_S = 180
"""Seconds within which a release is served or refused."""
LAYERS = 60
"""Of the slow model; all-MiniLM-L6-v2 has six."""
BROKEN = ("nan", "random", "damaged index", "stops", "slow")
SETTINGS = {
    "gateway.replicas": 2,
    "reranker.max_wait_s": 60,
    "request_timeout_s": 60,
    "watch.seconds": 0.5,
    "rollout.canary_share": 0.3,
    "rollout.canary_s": 10,
    "rollout.queries": 2,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path, required=True, help="index folder; it is copied")
    parser.add_argument("--backbone", type=Path, help="a BERT's folder; by default all-MiniLM-L6-v2")
    parser.add_argument("--rollouts", type=int, default=20)
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        rows = rollouts(options, Path(scratch))
    print_table("releases", list(rows[0]), [list(row.values()) for row in rows])
    right = sum(row["outcome"] == row["expected"] for row in rows)
    print(
        f"{right} of {len(rows)} had the expected outcome; {sum(row['not 200'] for row in rows)} failed requests"
    )
    if options.json:
        result = {"cores": len(os.sched_getaffinity(0)), "clients": CLIENTS, "lines": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def rollouts(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """A line for each release."""
    index = folder / "index"
    shutil.copytree(options.index, index)
    model = write_model(options.backbone or minilm(), folder / "first")
    make_golden_queries(model, index)
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder / 'mlflow.db'}"
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    os.chdir(folder)  # MLflow keeps artifacts here
    register(model)
    bodies = [body | {"rerank": PAIRS} for group in requests(index, 100).values() for body in group]
    settings = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    rows = []
    with endpoint(index, Path("models:/ranker@champion"), *settings) as (url, process):
        releases = Releases(model, index, folder, url)
        with load(url, bodies) as answers:
            time.sleep(2)
            for number in range(options.rollouts):
                kind = (
                    BROKEN[number // 4 % len(BROKEN)] if number % 4 == 3 else ("model", "index")[number % 2]
                )
                before, begin = answers.copy(), time.perf_counter()
                outcome, version = releases.roll_out(kind, process, answers)
                row = {
                    "release": kind,
                    "expected": "refused" if kind in BROKEN else "served",
                    "outcome": outcome,
                    "s": round(time.perf_counter() - begin, 1),
                    **answers.since(before, version),
                }
                print(json.dumps(row), flush=True)
                rows.append(row)
    return rows


def register(model: Path) -> None:
    register_model(model, "ranker", "champion")


@dataclass
class Answers:
    """What clients got: how many of each status (0: the connection broke), and by which model and index."""

    statuses: Counter[int] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def add(self, status: int, body: dict[str, Any]) -> None:
        """Count an answer."""
        with self._lock:
            self.statuses[status] += 1
            for name in ("model_version", "index_version"):
                self.versions[str(body.get(name))] += 1

    def copy(self) -> Answers:
        with self._lock:
            return Answers(self.statuses.copy(), self.versions.copy())

    def since(self, before: Answers, version: str) -> dict[str, Any]:
        """Columns of a line: what came since, and how many answers a version gave."""
        now = self.copy()
        statuses = now.statuses - before.statuses
        return {
            "answers": statuses.total(),
            "not 200": statuses.total() - statuses[200],
            "by it": now.versions[version] - before.versions[version],
        }


class Releases:
    """Makes releases one after the other, and waits for what becomes of each."""

    def __init__(self, model: Path, index: Path, folder: Path, url: str) -> None:
        self._model, self._index, self._folder, self._url = model, index, folder, url
        self._models = 1
        versions = VersionedFolder(index)
        corpus = Corpus.open(versions.folder(versions.current()) / "corpus")
        self._papers = iter(corpus.papers.take("id", range(100)))

    def roll_out(self, kind: str, process: subprocess.Popen[bytes], answers: Answers) -> tuple[str, str]:
        """Returns ``served``, ``refused`` or ``neither``, and the version that answers would name."""
        if "index" in kind:
            return self._index_without_a_paper(damaged=kind == "damaged index")
        self._models += 1
        number, to = self._models, self._folder / f"model-{self._models}"
        if kind == "slow":
            changed(self._model, to, same, LAYERS)
        else:
            broken = {"nan": nan, "random": random}
            changed(self._model, to, broken.get(kind, lambda _, value: value * (1 + 1e-4 * number)))
        version = components.version(to)
        register(to)
        if kind == "stops":
            wait_for(lambda: answers.versions[version] > 0)
            stages = {title(each): each for each in replicas(process, "Reranker")}
            stages[max(stages, key=stage_number)].send_signal(signal.SIGSTOP)
        return self._outcome(
            lambda found: (found["registered"] or {}).get("version") == number, f"version {number} "
        ), version

    def _index_without_a_paper(self, *, damaged: bool) -> tuple[str, str]:
        current = self._index / "CURRENT"
        before = current.read_text()
        version = publish_without(self._index, next(self._papers), damaged=damaged)
        outcome = self._outcome(lambda found: found["index_version"] == version, version)
        if damaged:  # as an operator would, so that the next releases have a sound index
            current.with_name("CURRENT.new").write_text(before)
            current.with_name("CURRENT.new").replace(current)
        return outcome, version

    def _outcome(self, served: Callable[[dict[str, Any]], bool], name: str) -> str:
        end = time.perf_counter() + OUTCOME_S
        while time.perf_counter() < end:
            found = httpx.get(f"{self._url}/v1/version", timeout=60).json()
            if served(found):
                return "served"
            if any(name in refused["what"] for refused in found["refused"]):
                return "refused"
            time.sleep(0.1)
        return "neither"


def title(process: psutil.Process) -> str:
    return " ".join(process.cmdline())


def stage_number(title: str) -> int:
    """Stages are numbered as they are started."""
    return int(title.split("cocite-stages-")[1].split(":")[0])


@contextmanager
def load(url: str, bodies: list[dict[str, Any]]) -> Iterator[Answers]:
    """Clients that ask one request after the other until the block ends."""
    answers, ended = Answers(), threading.Event()

    def client(number: int) -> None:
        with httpx.Client(base_url=url, timeout=120) as connection:
            for at in itertools.count(number, CLIENTS):
                if ended.is_set():
                    return
                try:
                    answer = connection.post("/v1/recommend", json=bodies[at % len(bodies)])
                except httpx.TransportError:
                    answers.add(0, {})
                else:
                    answers.add(answer.status_code, answer.json())
                ended.wait(PAUSE_S)

    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(client, number) for number in range(CLIENTS)]
        try:
            yield answers
        finally:
            ended.set()
        for each in clients:
            each.result()


if __name__ == "__main__":
    main()
