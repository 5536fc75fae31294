"""What an endpoint that nobody asks takes from a cross-encoder that computes beside it.

    .venv/bin/python -m benchmarks.serve_rest --index INDEX [--seconds 10] [--rounds 3] [--json FILE]

A cross-encoder of one thread for each core reads pairs alone, beside an endpoint as Ray starts it by default, and
beside one as `cocite serve` starts it: without workers that nobody needs, with a slower loop of the controller, and
with the policy SCHED_BATCH for all processes (cocite_serve/batch_policy.py). Before that the endpoint is at rest on
idle cores, and its CPU time and the times that its threads wake are counted. Prints a table, and with --json writes it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil

from benchmarks._endpoint import cpu_seconds, endpoint
from benchmarks._measured_process import provenance
from benchmarks.cross_encoder_scoring import minilm
from benchmarks.serving import ScorerAlone, write_model
from cocite.cli.console import print_table

RAYS = {"RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "0.1", "RAY_prestart_worker_first_driver": "1"}
"""Ray's defaults of what `cocite serve` sets."""
REST_S = 10.0
SETTLE_S = 10.0
"""After the start, in which Ray still does what it does once."""
START_S = 20.0
"""In which the scorers load, so that all begin at one time."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path, required=True, help="index folder with contexts")
    parser.add_argument("--seconds", type=float, default=10, help="of each line")
    parser.add_argument("--rounds", type=int, default=3, help="times that each line is measured")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    parser.add_argument("--score", nargs=3, metavar=("MODEL", "BEGIN", "END"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.score:
        model, begin, end = options.score
        score(Path(model), options.index, float(begin), float(end))
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        model = write_model(minilm(), Path(scratch) / "model")
        for number in range(1, options.rounds + 1):
            alone = scored(model, options.index, options.seconds)
            for name, settings in (("Ray's defaults", RAYS), ("cocite serve", None)):
                with patch.dict(os.environ, settings or {}), endpoint(options.index, model) as (_, process):
                    if settings is not None:
                        give_default_policy(process)
                    time.sleep(SETTLE_S)
                    rest = at_rest(process)
                    beside = scored(model, options.index, options.seconds)
                after = scored(model, options.index, options.seconds)
                without = (alone["pairs/s"] + after["pairs/s"]) / 2
                rows.append(
                    {
                        "round": number,
                        "endpoint": name,
                        **rest,
                        "pairs/s without": without,
                        "pairs/s beside": beside["pairs/s"],
                        "share": beside["pairs/s"] / without,
                        "CPU s a pair without": (alone["CPU s a pair"] + after["CPU s a pair"]) / 2,
                        "CPU s a pair beside": beside["CPU s a pair"],
                    }
                )
                print(json.dumps(rows[-1]), flush=True)
                alone = after
    print_table("an endpoint at rest", list(rows[0]), [list(row.values()) for row in rows])
    if options.json:
        options.json.write_text(json.dumps({**provenance("serve_rest"), "rows": rows}, indent=1) + "\n")


def scored(model: Path, index: Path, seconds: float) -> dict[str, float]:
    """Pairs a second of one scorer for each core, together, and their CPU seconds a pair."""
    begin = time.time() + START_S
    command = [sys.executable, "-m", "benchmarks.serve_rest", "--index", str(index)]
    command += ["--score", str(model), str(begin), str(begin + seconds)]
    scorers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in os.sched_getaffinity(0)
    ]
    results = [json.loads(scorer.communicate()[0]) for scorer in scorers]
    return {
        "pairs/s": sum(result["pairs/s"] for result in results),
        "CPU s a pair": float(np.mean([result["CPU s a pair"] for result in results])),
    }


def score(model: Path, index: Path, begin: float, end: float) -> None:
    """Read the pairs again and again with one thread between two times of the clock, and print the rates."""
    scorer = ScorerAlone(model, index, threads=1)
    if (wait := begin - time.time()) < 0:
        sys.exit(f"the scorer took {-wait:.1f} s longer to load than START_S")
    time.sleep(wait)
    rates = []
    while time.time() < end:
        rates.append(scorer.rate())
    mean = np.mean(rates, axis=0)
    print(json.dumps({"pairs/s": mean[0], "CPU s a pair": mean[1]}))


def at_rest(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """Cores that an endpoint takes, and how often its threads wake a second."""
    cpu, wakes = cpu_seconds(process), wake_ups(process)
    time.sleep(REST_S)
    cores = (cpu_seconds(process) - cpu) / REST_S
    later = wake_ups(process)
    return {"cores at rest": cores, "wakes/s": sum(later[tid] - wakes.get(tid, 0) for tid in later) / REST_S}


def wake_ups(process: subprocess.Popen[bytes]) -> dict[str, int]:
    """Voluntary context switches so far of each thread of an endpoint: it waited, and was woken."""
    counts = {}
    for task in tasks(process):
        with suppress(OSError):
            lines = (task / "status").read_text().splitlines()
            counts[task.name] = next(int(line.split()[1]) for line in lines if line.startswith("voluntary"))
    return counts


def give_default_policy(process: subprocess.Popen[bytes]) -> None:
    """Give all threads of an endpoint the policy that processes have by default."""
    for task in tasks(process):
        with suppress(ProcessLookupError):
            os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))


def tasks(process: subprocess.Popen[bytes]) -> Iterator[Path]:
    """The folders of all threads of an endpoint's processes."""
    root = psutil.Process(process.pid)
    for each in (root, *root.children(recursive=True)):
        with suppress(OSError):
            yield from Path(f"/proc/{each.pid}/task").iterdir()


if __name__ == "__main__":
    main()
