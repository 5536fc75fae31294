"""Peak memory of the data steps by the number of papers: it should not follow the corpus.

    python -m benchmarks.step_memory --work DIR --papers 1000000,10000000 [--model MODEL]
        [--steps import,embed,index,mine,rank] [--shard 1000000] [--years 5] [--keep]

Each step is the command that users run, in a process of its own, which makes the parts itself one after the other:
`corpus import` of a synthetic corpus' lines, with four contexts a paper, `embed` by each encoder of MODEL, `index
build` in shards of --shard papers, the mining of a cross-encoder's candidates for 2,000 queries, and `rank` of 2,000.
The steps after the first use the corpus and the index that the steps before made. A line of JSON is printed for each
step and number of papers, with the anonymous memory, which a process wrote and the system cannot take back, and the
mapped pages, which it can. The last line has the ratios of the last number of papers to the first. --keep leaves what
was made in DIR; a later run with fewer --steps uses it. 10^7 papers take about 80 GB of disk, 10 GB of them for each of
the --years of training queries that are mined.
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
CONTEXT_RATE = 4.0
"""Contexts a paper."""
LINES = "papers.jsonl"
COCITE = [sys.executable, "-m", "cocite"]


def write_queries(corpus: Corpus, to: Path) -> None:
    """Titles and abstracts of random papers, as `rank` reads them."""
    rows = np.sort(np.random.default_rng(0).choice(len(corpus), QUERIES, replace=False))
    columns = [corpus.papers.take(name, rows) for name in ("title", "abstract")]
    with to.open("w") as file:
        for number, (title, abstract) in enumerate(zip(*columns, strict=True)):
            file.write(json.dumps({"id": number, "title": title, "abstract": abstract}) + "\n")


def mine(source: str, index: str, to: str, years: str) -> None:
    """Mine a cross-encoder's candidates in this process."""
    from cocite.training.candidates import CandidateSettings
    from cocite_jobs.steps.mining.mine import mine_in_parts
    from cocite_jobs.steps.run_parts import Workers
    from cocite_jobs.storage.location import Location

    settings = CandidateSettings(queries=QUERIES, index=index, years=int(years))
    corpus = Corpus.open(Path(source), verified=True)
    folder = Path(to)
    mine_in_parts(
        settings, corpus, folder / "candidates", source=source, root=Location.of(folder), workers=Workers()
    )


def step_command(step: str, papers: int, folder: Path, options: argparse.Namespace) -> list[object]:
    """The command of a step, which writes into ``folder / step``."""
    to, corpus, index = folder / step, folder / "import", folder / "index"
    if step == "import":
        lines = folder / LINES
        write_source(papers, CONTEXT_RATE, lines)
        return [*COCITE, "corpus", "import", lines, "--to", to, "--json"]
    if step == "embed":
        return [*COCITE, "embed", corpus, "--model", options.model, "--to", to, "--no-verify", "--json"]
    if step == "index":
        shards = -(-papers // options.shard)
        return [*COCITE, "index", "build", corpus, "--to", to, "--shards", shards, "--no-verify", "--json"]
    if step == "mine":
        return [sys.executable, "-m", "benchmarks.step_memory", "--mine", corpus, index, to, options.years]
    to.mkdir()
    queries = to / "queries.jsonl"
    write_queries(Corpus.open(corpus, verified=True), queries)
    ranked = [*COCITE, "rank", "--queries", queries, "--to", to / "run.trec", "--index", index]
    return [*ranked, "--no-verify", "--json"]


def main() -> None:
    """Measure each step for each number of papers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path)
    parser.add_argument("--papers", default="1000000,10000000", help="numbers of papers")
    parser.add_argument("--model", type=Path, help="whose encoders embed")
    parser.add_argument("--steps", default="import,index,mine,rank")
    parser.add_argument("--shard", type=int, default=1_000_000, help="papers of a shard (index)")
    parser.add_argument("--keep", action="store_true", help="leave what was made in --work")
    parser.add_argument(
        "--years", type=int, default=5, help="of training queries, each with a history of its own (mine)"
    )
    parser.add_argument("--mine", nargs=4, metavar=("CORPUS", "INDEX", "TO", "YEARS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.mine:
        mine(*options.mine)
        return
    steps = options.steps.split(",")
    if options.work is None or ("embed" in steps and options.model is None):
        parser.error("--work is needed, and for embed --model")
    print(json.dumps(machine()), flush=True)
    peaks: dict[str, list[float]] = {}
    for papers in map(int, options.papers.split(",")):
        folder = options.work / str(papers)
        folder.mkdir(parents=True, exist_ok=True)
        for step in steps:
            result: dict[str, Any] = measured(step_command(step, papers, folder, options), LIMIT)
            result.pop("says", None)
            (folder / LINES).unlink(missing_ok=True)
            print(json.dumps({"step": step, "papers": papers, **result}), flush=True)
            if "failed" in result:
                sys.exit(f"{step}: {result['failed']}")
            peaks.setdefault(step, []).append(result["anonymous_mb"])
            if step not in ("import", "index"):
                shutil.rmtree(folder / step)
        if not options.keep:
            shutil.rmtree(folder)
    print(json.dumps({"ratios": {step: round(of[-1] / of[0], 2) for step, of in peaks.items()}}))


if __name__ == "__main__":
    main()
