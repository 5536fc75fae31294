"""Time and memory of making and opening corpora of growing size.

    python benchmarks/corpus_scale.py [--sizes 10000,100000,1000000] [--context-rate 1] [--keep DIR] [--json FILE]

Each size is generated and built in a process of its own, whose peak resident memory is reported; the growth from one
size to the next, divided by the papers between them, is what a paper costs. Then the store is opened afresh, and ids
and records are looked up.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def make(papers: int, context_rate: float, destination: Path) -> dict[str, Any]:
    """Build one synthetic store in this process."""
    from cocite.corpus.builder import build
    from cocite.corpus.synth import Synthetic

    start, steps = time.perf_counter(), [("reading", time.perf_counter())]
    corpus = build(
        Synthetic(papers, seed=0, context_rate=context_rate),
        destination,
        replace=True,
        on_step=lambda step: steps.append((step, time.perf_counter())),
    )
    end = time.perf_counter()
    times = {
        a: round(later - at, 2) for (a, at), (_, later) in zip(steps, [*steps[1:], ("", end)], strict=True)
    }
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "papers": papers,
        "citations": corpus.counts["citations"],
        "contexts": corpus.counts["contexts"],
        "seconds": round(end - start, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mib": round(usage.ru_maxrss / 1024, 1),
        "disk_mb": round(sum(p.stat().st_size for p in destination.iterdir()) / 1e6, 1),
        "steps": times,
    }


def read(destination: Path) -> dict[str, Any]:
    """Open a store in this process and look papers up."""
    import numpy as np

    from cocite.corpus.store import Corpus

    start = time.perf_counter()
    corpus = Corpus.open(destination)
    count = len(corpus)
    opened = time.perf_counter() - start
    rows = np.random.default_rng(0).integers(0, count, 1000)
    # The first look-up of a process imports Arrow's kernels.
    corpus.find(corpus.ids(np.arange(min(count, 100))))
    start = time.perf_counter()
    ids = corpus.ids(rows)
    named = time.perf_counter() - start
    start = time.perf_counter()
    found = corpus.find(ids)
    looked_up = time.perf_counter() - start
    assert np.array_equal(found, rows)
    start = time.perf_counter()
    corpus.papers_at(rows[:100])
    records = time.perf_counter() - start
    return {
        "open_ms": round(opened * 1e3, 2),
        "1000_ids_ms": round(named * 1e3, 2),
        "find_1000_ms": round(looked_up * 1e3, 2),
        "100_records_ms": round(records * 1e3, 2),
    }


def child(*args: str) -> dict[str, Any]:
    """Run this file in a process of its own and take the JSON it prints."""
    done = subprocess.run([sys.executable, __file__, *args], check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--context-rate", type=float, default=1.0)
    parser.add_argument("--keep", type=Path, help="folder to keep the stores in")
    parser.add_argument("--json", type=Path, help="file to write the results to")
    parser.add_argument("--make", nargs=2, metavar=("PAPERS", "DIR"), help=argparse.SUPPRESS)
    parser.add_argument("--read", metavar="DIR", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        print(json.dumps(make(int(options.make[0]), options.context_rate, Path(options.make[1]))))
        return
    if options.read:
        print(json.dumps(read(Path(options.read))))
        return
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for size in (int(part) for part in options.sizes.split(",")):
            folder = (options.keep or Path(scratch)) / f"synth-{size}"
            result = child("--make", str(size), str(folder), "--context-rate", str(options.context_rate))
            result |= child("--read", str(folder))
            if results:
                grown = (result["peak_mib"] - results[-1]["peak_mib"]) * 2**20
                result["bytes_a_paper"] = round(grown / (size - results[-1]["papers"]), 1)
            results.append(result)
            print(json.dumps(result), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
