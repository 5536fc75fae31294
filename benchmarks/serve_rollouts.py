"""Twenty releases one after the other under load, five of them broken: what clients get, and what is served in the end.

    .venv/bin/python -m benchmarks.serve_rollouts --index INDEX [--backbone FOLDER] [--json FILE]
    .venv/bin/python -m benchmarks.serve_rollouts --index INDEX --releases model,stops

The model is all-MiniLM-L6-v2 with a head of random weights, registered in an MLflow on SQLite and served by an alias.
Every fourth release is broken, in turn: weights that are no numbers; weights that were never trained; a damaged index;
a reranker that is stopped while it answers the canary; a model of ten times as many layers. The others are a model
whose weights differ by some ten-thousandths, and an index without one paper. Eight clients ask, and pause after each
answer. One line for each release: the seconds until it was served or refused, the answers, those that were no 200, how
many the release itself gave, and of a broken one the seconds from the first of these until it was refused. The last
line says of how many releases the outcome was the expected one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from transformers.utils import logging

from benchmarks._endpoint import endpoint
from benchmarks._measured_process import provenance
from benchmarks._releases import changed, nan, publish_without, random, same
from benchmarks._waiting_clients import Answer, WaitingClients, newest_reranker
from benchmarks.cross_encoder_scoring import minilm
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
OUTCOME_S = 300
"""Seconds within which a release is served or refused."""
LAYERS = 60
"""Of the slow model; all-MiniLM-L6-v2 has six."""
BROKEN = ("nan", "random", "damaged index", "stops", "slow")
SOUND = ("model", "index")
TWENTY = [BROKEN[number // 4] if number % 4 == 3 else SOUND[number % 2] for number in range(20)]
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
    parser.add_argument(
        "--releases",
        type=releases_of,
        default=TWENTY,
        help=f"kinds, separated by commas, of {', '.join((*SOUND, *BROKEN))}; by default twenty",
    )
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        options.index = options.index.resolve()
        options.backbone = options.backbone and options.backbone.resolve()
        with contextlib.chdir(scratch):  # MLflow keeps artifacts here
            rows = rollouts(options, Path(scratch))
    print_table("releases", list(rows[0]), [list(row.values()) for row in rows])
    right = sum(row["outcome"] == row["expected"] for row in rows)
    print(
        f"{right} of {len(rows)} had the expected outcome; {sum(row['not 200'] for row in rows)} failed requests"
    )
    if options.json:
        result = {**provenance("serve_rollouts"), "clients": CLIENTS, "lines": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def releases_of(text: str) -> list[str]:
    """The kinds of releases that ``--releases`` names."""
    names = text.split(",")
    if unknown := set(names) - {*SOUND, *BROKEN}:
        raise argparse.ArgumentTypeError(f"no kind of release: {', '.join(sorted(unknown))}")
    return names


def rollouts(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """A line for each release."""
    index = folder / "index"
    shutil.copytree(options.index, index)
    model = write_model(options.backbone or minilm(), folder / "first")
    make_golden_queries(model, index)
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder / 'mlflow.db'}"
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    register(model)
    bodies = [body | {"rerank": PAIRS} for group in requests(index, 100).values() for body in group]
    settings = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    rows = []
    with endpoint(index, Path("models:/ranker@champion"), *settings) as (url, process):
        releases = Releases(model, index, folder, url)
        with WaitingClients(url, bodies, CLIENTS, PAUSE_S).asking() as load:
            time.sleep(2)
            for kind in options.releases:
                before, begin = len(load.answers), time.perf_counter()
                outcome, version = releases.roll_out(kind, process, load)
                end, answers = time.perf_counter(), load.answers[before:]
                row = {
                    "release": kind,
                    "expected": "refused" if kind in BROKEN else "served",
                    "outcome": outcome,
                    "s": round(end - begin, 1),
                    **columns(answers, version),
                    "canary s": canary_s(answers, version, end) if kind in BROKEN else None,
                }
                print(json.dumps(row), flush=True)
                rows.append(row)
    return rows


def register(model: Path) -> None:
    register_model(model, "ranker", "champion")


def columns(answers: list[Answer], version: str) -> dict[str, int]:
    """Columns of a line: how many answers came, and how many of them a version of model or index gave."""
    return {
        "answers": len(answers),
        "not 200": sum(answer.status != 200 for answer in answers),
        "by it": sum(version in (answer.model, answer.index) for answer in answers),
    }


def canary_s(answers: list[Answer], version: str, refused: float) -> float | None:
    """Seconds from a release's first answer until it was refused; None: it answered nobody.

    Args:
        answers: of all clients.
        version: of its model or index.
        refused: when ``GET /v1/version`` told of it, by ``time.perf_counter``.
    """
    first = min((answer.at for answer in answers if version in (answer.model, answer.index)), default=None)
    return None if first is None else round(refused - first, 1)


class Releases:
    """Makes releases one after the other, and waits for what becomes of each."""

    def __init__(self, model: Path, index: Path, folder: Path, url: str) -> None:
        self._model, self._index, self._folder, self._url = model, index, folder, url
        self._models = 1
        versions = VersionedFolder(index)
        corpus = Corpus.open(versions.folder(versions.current()) / "corpus")
        self._papers = iter(corpus.papers.take("id", range(100)))

    def roll_out(self, kind: str, process: subprocess.Popen[bytes], load: WaitingClients) -> tuple[str, str]:
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
            # Not before it answers the canary: a replica that is stopped while it loads has `watch.start_s`.
            end = time.perf_counter() + OUTCOME_S
            while not load.by(version):
                if time.perf_counter() > end:
                    raise TimeoutError(f"version {number} answered nobody within {OUTCOME_S} s")
                time.sleep(0.05)
            newest_reranker(process.pid).send_signal(signal.SIGSTOP)
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


if __name__ == "__main__":
    main()
