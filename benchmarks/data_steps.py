"""Data steps with one worker of Ray and with two, in the same run, and what of a step stays serial.

    python -m benchmarks.data_steps embedding --model MODEL [--corpus STORE | --papers 4000] [--json FILE]
    python -m benchmarks.data_steps indexing mining ranking [--corpus STORE | --papers 4000] [--queries 2048]

Embedding: the vectors of all papers by each encoder of a model folder, in blocks of --block papers. Indexing: the
corpus in --shards shards, without vectors. Mining: candidates of --queries queries by the first stage, as the
cross-encoder is trained on. Ranking: --queries queries of a file by the first stage, the 200 best of each. Without
--corpus the papers are synthetic. Ray is started once, before any time is taken; each worker is a fresh process, which
opens the corpus and the model or index. The two settings take turns, --rounds times, so that a machine's other work
disturbs both alike, and the best round of each counts.

`wall` is the time of the whole step, `work` the time that workers were at parts, added up, `cpu` their CPU seconds
there. `driver` is the CPU time of the process that runs the step, and its share of all CPU seconds is what more workers
do not shorten. `open` is the CPU time that a worker takes to open what its parts need, once. Where the machine is busy,
compare `work` and `cpu` with `wall`: workers that do not get a core each cannot halve the wall time. `bound` is how
many times as fast as one worker's so many could be by the CPU seconds of an index' parts, each stage of which ends with
its last part: a core for each, and a driver and a disk that take no longer than their CPU time.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measured_process import processor
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.training.candidates import CandidateSettings
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.embedding import embed
from cocite_jobs.steps.indexing.build_index import build_index
from cocite_jobs.steps.mining.mine import MineBlocks, mine_in_parts
from cocite_jobs.steps.parts import Result
from cocite_jobs.steps.ranking.chosen_system import ChosenSystem
from cocite_jobs.steps.ranking.rank_file import RankQueries, rank_in_parts
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location

K, BATCH = 200, 64
"""Depth of the rankings, and queries ranked at a time."""
Step = Callable[[int], dict[str, float]]
"""Runs a step with some workers."""


@dataclass(frozen=True)
class Inputs:
    """What the steps read, and where they write."""

    options: argparse.Namespace
    corpus: Path
    index: Path
    scratch: Path


def embedding(inputs: Inputs) -> dict[str, Step]:
    """A step for each encoder."""
    options = inputs.options
    if options.model is None:
        raise SystemExit("embedding needs --model")
    embed.block_size = lambda papers: options.block

    def step_of(name: str) -> Step:
        def run(count: int) -> dict[str, float]:
            to = inputs.scratch / "vectors"
            workers = Workers(on="ray", count=count)
            [made] = embed.embed_corpus(inputs.corpus, options.model, to, names=[name], workers=workers)
            shutil.rmtree(to)
            effort = made.effort
            found = {"work": effort.seconds, "cpu": effort.cpu_seconds}
            found["papers_per_cpu_s"] = effort.papers / effort.cpu_seconds
            return found | ({"mfu": effort.mfu} if effort.mfu is not None else {})

        return run

    return {name: step_of(name) for name in embed.choose_encoders(options.model, options.encoder)}


def indexing(inputs: Inputs) -> dict[str, Step]:
    """An index in shards."""

    def run(count: int) -> dict[str, float]:
        to, cpu = inputs.scratch / "shards", time.process_time()
        made = build_index(inputs.corpus, to, Workers(on="ray", count=count), shards=inputs.options.shards)
        driver = time.process_time() - cpu
        shutil.rmtree(to)
        longest = sum(spread_over(count, of_stage) for of_stage in made.times)
        return {
            "work": made.seconds,
            "cpu": made.cpu_seconds,
            "bound": (driver + made.cpu_seconds) / (driver + longest),
            "papers_per_cpu_s": made.meta["papers"] / made.cpu_seconds,
        }

    return {"indexing": run}


def spread_over(workers: int, parts: Sequence[float]) -> float:
    """Seconds until the last of some workers has made its parts, when each takes the next one as soon as it is free."""
    ends = [0.0] * workers
    for part in parts:
        heapq.heapreplace(ends, ends[0] + part)
    return max(ends)


def mining(inputs: Inputs) -> dict[str, Step]:
    """Candidates of a cross-encoder's training."""
    corpus = Corpus.open(inputs.corpus)
    settings = CandidateSettings(queries=inputs.options.queries, index=str(inputs.index))
    work = MineBlocks(str(inputs.corpus), corpus.version, settings, Location.of(inputs.scratch / "opened"))
    opening = _cpu_of(work.open)

    def run(count: int) -> dict[str, float]:
        model, results = inputs.scratch / "model", list[Result]()
        mine_in_parts(
            settings,
            corpus,
            model / "candidates",
            source=str(inputs.corpus),
            root=Location.of(model),
            workers=Workers(on="ray", count=count),
            receive=results.append,
        )
        shutil.rmtree(model)
        return {
            "work": sum(result["seconds"] for result in results),
            "cpu": sum(result["cpu_seconds"] for result in results),
            "open": opening,
        }

    return {"mining": run}


def ranking(inputs: Inputs) -> dict[str, Step]:
    """Queries of a file, by the first stage."""
    corpus = Corpus.open(inputs.corpus)
    queries = inputs.scratch / "queries.jsonl"
    rows = np.random.default_rng(0).integers(0, len(corpus), inputs.options.queries)
    columns = [corpus.papers.take(name, rows) for name in ("title", "abstract")]
    with queries.open("w") as file:
        for number, (title, abstract) in enumerate(zip(*columns, strict=True)):
            file.write(json.dumps({"id": number, "title": title, "abstract": abstract}) + "\n")
    system = ChosenSystem.over(inputs.index, "first", None)
    to = inputs.scratch / "run.trec"
    opening = _cpu_of(RankQueries(system, str(queries), K, BATCH, "first", Location.of(to)).open)

    def run(count: int) -> dict[str, float]:
        results: list[Result] = []
        rank_in_parts(
            *(inputs.index, "first", None, queries, to),
            beside=to,
            k=K,
            batch=BATCH,
            tag="first",
            workers=Workers(on="ray", count=count),
            size=4 * BATCH,
            receive=results.append,
        )
        return {
            "work": sum(result["ranked"]["seconds"] for result in results),
            "cpu": sum(result["cpu_seconds"] for result in results),
            "open": opening,
        }

    return {"ranking": run}


def _cpu_of(open_: Callable[[], object]) -> float:
    """CPU seconds of an opening that is not the process's first: imports and compiled functions are there."""
    open_()
    begin = time.process_time()
    open_()
    return time.process_time() - begin


STEPS: dict[str, Callable[[Inputs], dict[str, Step]]] = {
    "embedding": embedding,
    "indexing": indexing,
    "mining": mining,
    "ranking": ranking,
}


def measure(step: Step, rounds: int) -> dict[str, Any]:
    """A step with one worker and with two, taking turns."""
    found: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for _ in range(rounds):
        for count, results in found.items():
            began, cpu = time.perf_counter(), time.process_time()
            result = step(count)
            wall, driver = time.perf_counter() - began, time.process_time() - cpu
            share = driver / (driver + result["cpu"])
            results.append({"wall": wall, "driver": driver, "serial_share": share, **result})
    best = {count: min(results, key=lambda one: one["wall"]) for count, results in found.items()}
    return {"workers": best, "ratios": {key: best[1][key] / best[2][key] for key in ("wall", "cpu")}}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", nargs="+", choices=STEPS)
    parser.add_argument("--corpus", type=Path, help="a corpus store; by default a synthetic one")
    parser.add_argument("--model", type=Path, help="a model folder with encoders (embedding)")
    parser.add_argument("--encoder", action="append", default=[], help="an encoder; by default all")
    parser.add_argument("--papers", type=int, default=4000, help="of the synthetic corpus")
    parser.add_argument("--queries", type=int, default=2048, help="that are mined for, or ranked")
    parser.add_argument("--shards", type=int, default=4, help="of an index (indexing)")
    parser.add_argument("--block", type=int, default=512, help="papers of a block (embedding)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        corpus = options.corpus or build(Synthetic(options.papers), scratch / "corpus").path
        papers = len(Corpus.open(corpus))
        inputs = Inputs(options, corpus, scratch / "index", scratch)
        if {"mining", "ranking"} & set(options.step):
            IndexSnapshot.create(Corpus.open(corpus), inputs.index)
        with ray_connection("local"):
            steps = {name: step for kind in options.step for name, step in STEPS[kind](inputs).items()}
            report = {name: measure(step, options.rounds) for name, step in steps.items()}
    print(f"{papers:,} papers, {options.queries:,} queries, load {load:.1f} at the start\n")
    columns = ["bound", "wall", "work", "cpu", "open", "driver", "serial_share", "papers_per_cpu_s", "mfu"]
    print("| step | workers | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 2))
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
            "queries": options.queries,
            "block": options.block,
            "shards": options.shards,
            "load_at_start": round(load, 1),
            "steps": report,
        }
        options.json.parent.mkdir(exist_ok=True)
        options.json.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
