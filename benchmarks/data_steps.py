"""Data steps with one worker of Ray and with two, in the same run, and what of a step stays serial.

    python -m benchmarks.data_steps --model MODEL [--corpus STORE | --papers 4000] [--json FILE]

Embedding: the vectors of all papers, without --corpus of --papers synthetic ones, by each encoder of a model folder, in
blocks of --block papers. Ray is started once, before any time is taken; each worker is a fresh process, which opens the
corpus and the model. The two settings take turns, --rounds times, so that a machine's other work disturbs both alike,
and the best round of each counts.

`wall` is the time of the whole step, `work` the time that workers were encoding, added up, `cpu` their CPU seconds.
`driver` is the CPU time of the process that runs the step, and its share of all CPU seconds is what more workers do not
shorten. Where the machine is busy, compare `work` and `cpu` with `wall`: workers that do not get a core each cannot
halve the wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks._measured_process import processor
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.embedding import embed
from cocite_jobs.steps.run_parts import Workers


def embed_once(
    options: argparse.Namespace, corpus: Path, name: str, count: int, scratch: Path
) -> dict[str, float]:
    """One embedding by some workers."""
    to = scratch / "vectors"
    began, cpu = time.perf_counter(), time.process_time()
    [made] = embed.embed_corpus(
        corpus, options.model, to, names=[name], workers=Workers(on="ray", count=count)
    )
    wall, driver = time.perf_counter() - began, time.process_time() - cpu
    shutil.rmtree(to)
    effort = made.effort
    found = {"wall": wall, "work": effort.seconds, "cpu": effort.cpu_seconds, "driver": driver}
    found["serial_share"] = driver / (driver + effort.cpu_seconds)
    found["papers_per_cpu_s"] = effort.papers / effort.cpu_seconds
    return found | ({"mfu": effort.mfu} if effort.mfu is not None else {})


def measure(options: argparse.Namespace, corpus: Path, scratch: Path) -> dict[str, Any]:
    """Every encoder with one worker and with two, taking turns."""
    embed.block_size = lambda papers: options.block
    report = {}
    for name in embed.choose_encoders(options.model, options.encoder):
        rounds: dict[int, list[dict[str, float]]] = {1: [], 2: []}
        for _ in range(options.rounds):
            for count, found in rounds.items():
                found.append(embed_once(options, corpus, name, count, scratch))
        best = {count: min(found, key=lambda one: one["wall"]) for count, found in rounds.items()}
        ratios = {key: best[1][key] / best[2][key] for key in ("wall", "cpu")}
        report[name] = {"workers": best, "ratios": ratios}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="a corpus store; by default a synthetic one")
    parser.add_argument("--model", type=Path, required=True, help="a model folder with encoders")
    parser.add_argument("--encoder", action="append", default=[], help="an encoder; by default all")
    parser.add_argument("--papers", type=int, default=4000, help="of the synthetic corpus")
    parser.add_argument("--block", type=int, default=512, help="papers of a block")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        corpus = options.corpus or build(Synthetic(options.papers), scratch / "corpus").path
        with ray_connection("local"):
            report = measure(options, corpus, scratch)
        papers = len(Corpus.open(corpus))
    print(f"{papers:,} papers in blocks of {options.block}, load {load:.1f} at the start\n")
    columns = ["wall", "work", "cpu", "driver", "serial_share", "papers_per_cpu_s", "mfu"]
    print("| encoder | workers | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 2))
    for name, entry in report.items():
        for count, found in entry["workers"].items():
            cells = (f"{found[key]:.3g}" if key in found else "" for key in columns)
            print(f"| {name} | {count} | " + " | ".join(cells) + " |")
    for name, entry in report.items():
        print(f"{name}, two workers against one: {entry['ratios']['wall']:.2f} times as fast")
    if options.json:
        facts = {
            "date": datetime.now(UTC).date().isoformat(),
            "cpu": processor(),
            "papers": papers,
            "block": options.block,
            "load_at_start": round(load, 1),
            "embedding": report,
        }
        options.json.parent.mkdir(exist_ok=True)
        options.json.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
