"""Peak memory of the data steps by the number of papers: it should not follow the corpus.

    python -m benchmarks.step_memory --model MODEL --work DIR --corpus DIR [DIR ...] [--index DIR [DIR ...]]
        [--steps import,embed,index,mine,rank] [--shard 1000000]

Each step is the command that users run, in a process of its own, which makes the parts itself one after the other:
`corpus import` of a synthetic corpus' lines, `embed` by each encoder of MODEL, `index build` in shards of --shard
papers, the mining of a cross-encoder's candidates for 2,000 queries, and `rank` of 2,000. The last two search an index:
each --index belongs to the --corpus at the same place. A line of JSON is printed for each step and corpus, with the
anonymous memory, which a process wrote and the system cannot take back, and the mapped pages, which it can. The last
line has the ratios of the last corpus to the first. What a step made is deleted before the next.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measured_process import machine, measured
from benchmarks.import_scale import write_source
from cocite.corpus.store import Corpus

LIMIT = 20 * 2**30
"""Bytes of anonymous memory at which a process is ended."""
QUERIES = 2000
COCITE = [sys.executable, "-m", "cocite"]


def write_queries(corpus: Corpus, to: Path) -> None:
    """Titles and abstracts of random papers, as `rank` reads them."""
    rows = np.sort(np.random.default_rng(0).choice(len(corpus), QUERIES, replace=False))
    columns = [corpus.papers.take(name, rows) for name in ("title", "abstract")]
    with to.open("w") as file:
        for number, (title, abstract) in enumerate(zip(*columns, strict=True)):
            file.write(json.dumps({"id": number, "title": title, "abstract": abstract}) + "\n")


def mine(source: str, index: str, to: str) -> None:
    """Mine a cross-encoder's candidates in this process."""
    from cocite.training.candidates import CandidateSettings
    from cocite_jobs.steps.mining.mine import mine_in_parts
    from cocite_jobs.steps.run_parts import Workers
    from cocite_jobs.storage.location import Location

    settings = CandidateSettings(queries=QUERIES, index=index)
    corpus = Corpus.open(Path(source), verified=True)
    folder = Path(to)
    mine_in_parts(
        settings, corpus, folder / "candidates", source=source, root=Location.of(folder), workers=Workers()
    )


def step_command(step: str, corpus: Path, index: Path | None, options: argparse.Namespace) -> list[object]:
    """The command of a step, which writes into ``options.work / step``."""
    to = options.work / step
    if step == "import":
        lines = options.work / "papers.jsonl"
        write_source(len(Corpus.open(corpus, verified=True)), 4.0, lines)
        return [*COCITE, "corpus", "import", lines, "--to", to]
    if step == "embed":
        return [*COCITE, "embed", corpus, "--model", options.model, "--to", to, "--no-verify"]
    if step == "index":
        shards = -(-len(Corpus.open(corpus, verified=True)) // options.shard)
        return [*COCITE, "index", "build", corpus, "--to", to, "--shards", shards, "--no-verify"]
    if index is None:
        sys.exit(f"{step} searches an index: give one with --index for each --corpus")
    if step == "mine":
        return [sys.executable, "-m", "benchmarks.step_memory", "--mine", corpus, index, to]
    queries = options.work / "queries.jsonl"
    to.mkdir()
    write_queries(Corpus.open(corpus, verified=True), queries)
    return [*COCITE, "rank", "--queries", queries, "--to", to / "run.trec", "--index", index, "--no-verify"]


def main() -> None:
    """Measure each step for each corpus."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--corpus", type=Path, nargs="+")
    parser.add_argument("--index", type=Path, nargs="*", default=[])
    parser.add_argument("--steps", default="import,embed,index,mine,rank")
    parser.add_argument("--shard", type=int, default=1_000_000, help="papers of a shard (index)")
    parser.add_argument("--mine", nargs=3, metavar=("CORPUS", "INDEX", "TO"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.mine:
        mine(*options.mine)
        return
    options.work.mkdir(parents=True, exist_ok=True)
    print(json.dumps(machine()), flush=True)
    peaks: dict[str, list[float]] = {}
    for at, corpus in enumerate(options.corpus):
        index = options.index[at] if at < len(options.index) else None
        papers = len(Corpus.open(corpus, verified=True))
        for step in options.steps.split(","):
            command = step_command(step, corpus, index, options)
            result: dict[str, Any] = measured([*command, *([] if step == "mine" else ["--json"])], LIMIT)
            result.pop("says", None)
            shutil.rmtree(options.work / step, ignore_errors=True)
            print(json.dumps({"step": step, "papers": papers, **result}), flush=True)
            if "failed" in result:
                sys.exit(f"{step}: {result['failed']}")
            peaks.setdefault(step, []).append(result["anonymous_mb"])
        (options.work / "papers.jsonl").unlink(missing_ok=True)
    print(json.dumps({"ratios": {step: round(of[-1] / of[0], 2) for step, of in peaks.items()}}))


if __name__ == "__main__":
    main()
