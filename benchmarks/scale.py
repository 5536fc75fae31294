"""The whole way at scale: a synthetic corpus is imported, indexed with vectors, opened, and asked.

    python benchmarks/scale.py [--papers 1000000] [--vectors ivf] [--queries 50] [--keep DIR]

Each step is a process of its own, whose wall and CPU time, peak resident memory (files that are mapped and were
touched count) and files on disk are printed as a table and written to benchmarks/results/scale-<papers>.json. The
vectors are those of an NNSelect of 64 dimensions, trained first on a small synthetic corpus. With --keep, a corpus
or an index that is there already is used again.

Queries are asked one at a time, as an author would ask: contexts with a gap (local), and titles with abstracts
(global), of papers in the corpus.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
LIMIT_GIB = 8.0
"""What no step may exceed on a machine of 24 GiB."""
TRAINED_ON = 2000
"""Papers of the small corpus that NNSelect is trained on."""


def step(name: str, *command: str, disk: Path | None = None) -> dict[str, Any]:
    """Run a command in a process of its own and measure it; what it prints as JSON is kept."""
    print(f"{name} …", file=sys.stderr, flush=True)
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output)
        # Unlike the usage of all children together, this is of that one process and those it waited for.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        output.seek(0)
        printed = output.read()
    if process.returncode:
        raise SystemExit(f"{name} ended with {process.returncode}: {' '.join(command)}")
    result: dict[str, Any] = {
        "step": name,
        "wall_s": round(wall, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_gib": round(usage.ru_maxrss / 2**20, 3),
    }
    if disk is not None:
        files = [path.stat() for path in disk.rglob("*") if path.is_file()]
        result["disk_mb"] = round(sum(file.st_size for file in files) / 1e6, 1)
    says = json.loads(printed) if printed.strip() else {}
    # Where a step wrote to is of no interest to who reads the results.
    result["says"] = {key: value for key, value in says.items() if key not in ("to", "index")}
    return result


def cocite(*arguments: object) -> list[str]:
    """The command line of cocite, quiet but for its JSON."""
    return [sys.executable, "-m", "cocite", *map(str, arguments), "--json"]


def opened(index: Path, model: Path) -> dict[str, Any]:
    """Open an index and a model, in this process."""
    from cocite.pipeline.recommender import Recommender

    start, cpu = time.perf_counter(), time.process_time()
    recommender = Recommender.load(model, index)
    return {
        "papers": len(recommender.index),
        "contexts": len(recommender.index.contexts),
        "open_s": round(time.perf_counter() - start, 2),
        "open_cpu_s": round(time.process_time() - cpu, 2),
    }


def asked(index: Path, model: Path, count: int, kind: str) -> dict[str, Any]:
    """Open an index and answer queries of one kind one by one, in this process."""
    from cocite.pipeline.recommender import Recommender
    from cocite.protocols import Query

    recommender = Recommender.load(model, index)
    corpus = recommender.index.corpus
    rng = np.random.default_rng(0)
    if kind == "local":
        positions = np.sort(rng.choice(len(corpus.contexts), count, replace=False))
        texts = corpus.contexts.take("text", positions)
        rows, answers = corpus.context_citing[positions], [corpus.context_cited[i] for i in positions]
    else:
        rows = np.sort(rng.choice(np.flatnonzero(corpus.cites.degrees), count, replace=False))
        texts, answers = [""] * count, [corpus.cites[row] for row in rows]
    queries = [
        Query(
            f"q{i}",
            text,
            paper.title,
            paper.abstract,
            paper.year,
            tuple(paper.authors),
            paper.venue,
            paper=row,
        )
        for i, (row, text, paper) in enumerate(zip(rows.tolist(), texts, corpus.papers_at(rows), strict=True))
    ]
    recommender.recommend(queries[0])  # The first answer reads what the operating system has not mapped yet.
    cpu, seconds, found = time.process_time(), [], []
    for query, answer in zip(queries, answers, strict=True):
        start = time.perf_counter()
        best = recommender.recommend(query)
        seconds.append(time.perf_counter() - start)
        found.append(np.isin(answer, [paper.row for paper in best]).mean())
    cpu = time.process_time() - cpu
    result = {
        "queries": count,
        "median_ms": round(float(np.median(seconds)) * 1e3, 1),
        "p95_ms": round(float(np.percentile(seconds, 95)) * 1e3, 1),
        "cpu_ms": round(cpu / count * 1e3, 1),
        "R@20": round(float(np.mean(found)), 3),
    }
    retriever = recommender.first.signals.retrievers.get("nnselect")
    if retriever is not None:
        start = time.perf_counter()
        for query in queries:
            retriever.search([query], 1000)
        result["vectors_1000_ms"] = round((time.perf_counter() - start) / count * 1e3, 1)
    return result


def processor() -> str:
    """The name of the processor, as the system gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def measure(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """All steps, one after the other."""
    this = (sys.executable, __file__)
    small, model = folder / "small", folder / "model"
    corpus, index = folder / f"corpus-{options.papers}", folder / f"index-{options.papers}-{options.vectors}"
    steps = []
    if not (model / "nnselect").is_dir():
        step("small corpus", *cocite("corpus", "synth", "--papers", TRAINED_ON, "--to", small, "--replace"))
        settings = ("model.dimension=64", "training.epochs=2")
        train = ("train", "nnselect", *settings, "--corpus", small, "--to", model, "--no-track")
        step("train NNSelect", *cocite(*train))
    if not corpus.is_dir():
        synth = ("corpus", "synth", "--papers", options.papers, "--context-rate", 1, "--to", corpus)
        steps.append(step("import", *cocite(*synth), disk=corpus))
    if not (index / "CURRENT").is_file():
        build = ("index", "build", corpus, "--to", index, "--model", model, "--vectors", options.vectors)
        steps.append(step(f"index ({options.vectors})", *cocite(*build), disk=index))
    ask = ("--index", str(index), "--model", str(model), "--queries", str(options.queries))
    steps.append(step("open", *this, *ask, "--do", "open"))
    kinds = ("global", "local")
    return [
        *steps,
        *(step(f"{options.queries} {kind} queries", *this, *ask, "--do", kind) for kind in kinds),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--papers", type=int, default=1_000_000)
    parser.add_argument("--vectors", default="ivf", help="kind of vector index")
    parser.add_argument("--queries", type=int, default=50, help="of each kind")
    parser.add_argument("--keep", type=Path, help="folder to keep corpus, model and index in")
    for name in ("--index", "--model", "--do"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if options.do:
        place = Path(options.index), Path(options.model)
        print(
            json.dumps(opened(*place) if options.do == "open" else asked(*place, options.queries, options.do))
        )
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        load = os.getloadavg()[0]
        steps = measure(options, folder)
    print("| step | wall s | CPU s | peak GiB | disk MB |\n| --- | --- | --- | --- | --- |")
    for done in steps:
        times = f"{done['wall_s']:.1f} | {done['cpu_s']:.1f} | {done['peak_gib']:.2f}"
        print(f"| {done['step']} | {times} | {done.get('disk_mb', '')} |")
    for done in steps[-3:]:
        print(f"{done['step']}: {json.dumps(done['says'])}")
    peak = max(done["peak_gib"] for done in steps)
    print(f"peak {peak:.2f} GiB of the {LIMIT_GIB:.0f} allowed" + (": TOO MUCH" if peak > LIMIT_GIB else ""))
    report = {
        "papers": options.papers,
        "vectors": options.vectors,
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": processor(),
        "cores": os.cpu_count(),
        "load_at_start": round(load, 1),
        "steps": steps,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"scale-{options.papers}.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
