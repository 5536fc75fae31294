"""Time and memory of importing cocite's own JSON lines: by one process, in parts, and by workers of Ray.

    python -m benchmarks.import_scale [--papers 1000000] [--context-rate 4] [--workers 1,2] [--keep DIR] [--store URI]

The lines of a synthetic corpus are written once. Each way of importing them runs in a process of its own; all of them
must give the same store. ``cpu_s`` and ``peak_mb`` are of that process, which with Ray does not make the parts itself;
``ratio`` compares the wall time with that of one worker of Ray in the same run. For parts made by one process,
``serial_cpu_s`` is what workers do not share, and ``at_most`` the ratio that it allows two, without the start of Ray.
With ``--store`` workers read and write the parts there, as where machines share no folder; the store's own upload is
not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks._measured_process import machine
from cocite.corpus.builder import build
from cocite.corpus.importers import open_source
from cocite.corpus.records import ContextRecord, PaperRecord
from cocite.corpus.synth import Synthetic

SERIAL = ("putting the parts together", "joining the parts")
"""Steps of an import in parts that one process makes."""


def write_source(papers: int, context_rate: float, path: Path) -> None:
    """Write the papers and contexts of a synthetic corpus as lines."""
    with path.open("w") as file:
        for record in Synthetic(papers, seed=0, context_rate=context_rate):
            if not isinstance(record, PaperRecord | ContextRecord):
                continue
            line = asdict(record)
            if isinstance(record, ContextRecord):
                line["context"] = line.pop("text")
            file.write(json.dumps(line) + "\n")


def import_source(source: Path, to: Path, way: str, store: str = "") -> dict[str, Any]:
    """Import in this process, and measure its steps in CPU seconds.

    Args:
        source: the lines.
        to: the store to make.
        way: ``stream``, ``parts``, or ``ray-N`` with N workers.
        store: a URI beside which the parts are kept; empty: they are kept beside ``to``.
    """
    begin = time.perf_counter()
    steps: list[tuple[str, float]] = [("reading", time.process_time())]
    options: dict[str, Any] = {
        "replace": True,
        "on_step": lambda step: steps.append((step, time.process_time())),
    }
    if way == "stream":
        corpus = build(open_source(source), to, **options)
    else:
        from cocite_jobs.steps.importing.import_corpus import import_in_parts
        from cocite_jobs.steps.run_parts import Workers

        ray, _, count = way.partition("-")
        workers = Workers(on="ray", count=int(count)) if ray == "ray" else Workers()
        corpus = import_in_parts(open_source(source), to, workers, to_uri=store, **options)
    steps.append(("", time.process_time()))
    spent = {
        name: after - at
        for (name, at), (_, after) in zip(steps[:-1], steps[1:], strict=True)  # noqa: RUF007 named pairs
    }
    total, serial = steps[-1][1] - steps[0][1], sum(spent.get(name, 0.0) for name in SERIAL)
    shared = {"serial_cpu_s": round(serial, 1), "at_most": round(2 * total / (total + serial), 2)}
    return {
        "way": way,
        "papers": len(corpus),
        "version": corpus.version,
        "wall_s": round(time.perf_counter() - begin, 1),
        "cpu_s": round(total, 1),
        **(shared if way == "parts" else {}),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1),
        "steps_cpu_s": {name: round(seconds, 2) for name, seconds in spent.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--papers", type=int, default=1_000_000)
    parser.add_argument("--context-rate", type=float, default=4.0)
    parser.add_argument("--workers", default="1,2", help="numbers of workers of Ray; empty: none")
    parser.add_argument("--keep", type=Path, help="folder to keep the lines and the stores in")
    parser.add_argument("--store", default="", help="URI beside which the parts are kept")
    parser.add_argument("--one", nargs=3, metavar=("SOURCE", "TO", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        source, to, way = options.one
        print(json.dumps(import_source(Path(source), Path(to), way, options.store)))
        return
    print(json.dumps(machine()), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / f"papers-{options.papers}.jsonl"
        if not source.exists():
            write_source(options.papers, options.context_rate, source)
        ways = ["stream", "parts", *(f"ray-{count}" for count in options.workers.split(",") if count)]
        results: list[dict[str, Any]] = []
        for way in ways:
            command = [sys.executable, "-m", "benchmarks.import_scale", "--store", options.store, "--one"]
            done = subprocess.run(
                [*command, str(source), str(folder / f"store-{way}"), way],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
            )
            result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            one = next((earlier for earlier in results if earlier["way"] == "ray-1"), None)
            if one is not None:
                result["ratio"] = round(one["wall_s"] / result["wall_s"], 2)
            results.append(result)
            print(json.dumps(result), flush=True)
        if len({result["version"] for result in results}) > 1:
            raise SystemExit("the ways gave different stores")


if __name__ == "__main__":
    main()
