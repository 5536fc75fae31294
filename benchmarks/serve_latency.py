"""How long the endpoint takes, client's side, over loopback: one client, then several at once.

    .venv/bin/python -m benchmarks.serve_latency --index INDEX [--model MODEL] [--clients 1,4,16] [--on process] \
        [--set retriever.block=16]

Starts `cocite serve` over the index (--on process: without Ray), asks for contexts drawn from its corpus (and titles
with abstracts), and prints percentiles, the part of the two stages, and what is left for HTTP and Ray Serve. Beside
them stand the same requests to a `Recommender` in this process, with one thread, and the CPU time of a request: of all
processes of the endpoint, and in this process. `block` is how many waiting queries the retriever computes together.
With --url it asks a running endpoint, whose CPU time is not measured and whose block is not known.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import torch

from benchmarks._endpoint import cpu_seconds, endpoint
from benchmarks._measured_process import processor, provenance
from cocite.cli.console import print_table
from cocite.corpus.store import Corpus
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.versions import VersionedFolder
from cocite_serve.settings import ServeSettings

WARM_UP = 20
TURNS = 5
"""How often the requests of a line pass from the endpoint to this process."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--index", type=Path, required=True, help="index folder; its corpus gives the requests"
    )
    parser.add_argument("--model", type=Path, help="model folder")
    parser.add_argument("--url", help="ask a running endpoint instead of starting one")
    parser.add_argument(
        "--requests", type=int, default=200, help="requests per line of the table (at most 5,000)"
    )
    parser.add_argument("--clients", default="1,4,16", help="numbers of clients at once")
    parser.add_argument("--on", choices=("ray", "process"), default="ray", help="as of cocite serve")
    parser.add_argument("--set", action="append", default=[], help="a setting, as of cocite serve")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    count = min(options.requests, 5000)
    texts = requests(options.index, count)
    clients = [int(number) for number in options.clients.split(",")]
    alone = InProcess(options)
    block = None if options.url else block_of(options)
    settings = [part for setting in options.set for part in ("--set", setting)]
    started = endpoint(options.index, options.model, "--on", options.on, *settings)
    with nullcontext((options.url, None)) if options.url else started as (url, process):
        rows = [
            {
                "request": kind,
                "block": block,
                "clients": number,
                **measure(url, bodies, number, process, alone),
            }
            for kind, bodies in texts.items()
            for number in clients
        ]
    columns = [
        "request",
        "block",
        "clients",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "retrieve",
        "rerank",
        "Serve + HTTP",
        "in process p50 ms",
        "CPU ms",
        "in process CPU ms",
        "req/s",
        "429",
    ]
    print_table(
        f"{processor()}, on {options.on}, {count} requests a line",
        columns,
        [[row[c] for c in columns] for row in rows],
    )
    if options.json:
        result = {
            **provenance("serve_latency"),
            "on": options.on,
            "requests a line": count,
            "lines": rows,
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def block_of(options: argparse.Namespace) -> int:
    """Queries in a block of the retriever that is measured."""
    data = {"index": str(options.index)}
    settings = ServeSettings.parse(data, where="cocite serve", overrides=options.set, option="--set")
    return settings.retriever.block


def requests(index: Path, count: int) -> dict[str, list[dict[str, Any]]]:
    """Bodies of requests: contexts of the corpus, and its papers' titles and abstracts."""
    corpus = Corpus.open(VersionedFolder(index).folder(VersionedFolder(index).current()) / "corpus")
    draw = np.random.default_rng(0)
    papers = draw.integers(len(corpus), size=count)
    bodies = {
        "title + abstract": [
            {"title": title, "abstract": abstract}
            for title, abstract in zip(
                corpus.papers.take("title", papers), corpus.papers.take("abstract", papers), strict=True
            )
        ]
    }
    if len(corpus.contexts):
        places = draw.integers(len(corpus.contexts), size=count)
        bodies["context"] = [{"context": text} for text in corpus.contexts.take("text", places)]
    return bodies


class InProcess:
    """A `Recommender` of this process, which answers with the endpoint's defaults.

    Attributes:
        cpu_s: CPU seconds of its answers so far.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        torch.set_num_threads(1)
        defaults = ServeSettings(index=options.index)
        self._recommender = Recommender.load(options.model, options.index)
        self._asked = Options(top_k=defaults.top_k, depth=defaults.depth, rerank=defaults.rerank)
        self.cpu_s = 0.0

    def ask(self, bodies: list[dict[str, Any]]) -> list[float]:
        """Milliseconds of some requests, one after the other."""
        took, begin_cpu = [], time.process_time()
        for body in bodies:
            begin = time.perf_counter()
            self._recommender.recommend(self._recommender.query(**body), self._asked)
            took.append(1000 * (time.perf_counter() - begin))
        self.cpu_s += time.process_time() - begin_cpu
        return took


def measure(
    url: str,
    bodies: list[dict[str, Any]],
    clients: int,
    process: subprocess.Popen[bytes] | None,
    alone: InProcess,
) -> dict[str, Any]:
    """Figures of all requests sent by some clients, each waiting for its answer before the next, and of the same
    requests in this process."""
    with httpx.Client(base_url=url, timeout=120, limits=httpx.Limits(max_connections=clients)) as client:

        def ask(body: dict[str, Any]) -> tuple[float, dict[str, float] | None]:
            begin = time.perf_counter()
            answer = client.post("/v1/recommend", json=body)
            took = 1000 * (time.perf_counter() - begin)
            if answer.status_code == 429:
                return took, None
            answer.raise_for_status()
            return took, answer.json()["took_ms"]

        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(ask, bodies[:WARM_UP]))
            alone.ask(bodies[:WARM_UP])
            done, took_alone, seconds, cpu, cpu_alone = [], [], 0.0, 0.0, alone.cpu_s
            turn = math.ceil(len(bodies) / TURNS)
            for first in range(0, len(bodies), turn):
                part = bodies[first : first + turn]
                begin, begin_cpu = time.perf_counter(), cpu_seconds(process) if process else 0.0
                done += list(pool.map(ask, part))
                seconds += time.perf_counter() - begin
                cpu += cpu_seconds(process) - begin_cpu if process else math.nan
                took_alone += alone.ask(part)
    good = [(took, stages) for took, stages in done if stages is not None]
    took = np.array([t for t, _ in good])
    stages = {name: float(np.median([s[name] for _, s in good])) for name in ("retrieve", "rerank", "total")}
    return {
        "p50 ms": float(np.percentile(took, 50)),
        "p95 ms": float(np.percentile(took, 95)),
        "p99 ms": float(np.percentile(took, 99)),
        "retrieve": stages["retrieve"],
        "rerank": stages["rerank"],
        "Serve + HTTP": float(np.median(took - [s["total"] for _, s in good])),
        "CPU ms": 1000 * cpu / len(done),
        "req/s": len(good) / seconds,
        "429": len(done) - len(good),
        "in process p50 ms": float(np.median(took_alone)),
        "in process CPU ms": 1000 * (alone.cpu_s - cpu_alone) / len(done),
    }


if __name__ == "__main__":
    main()
