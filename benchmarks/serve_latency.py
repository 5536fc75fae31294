"""How long the endpoint takes, client's side, over loopback: one client, then several at once.

    .venv/bin/python -m benchmarks.serve_latency --index INDEX [--model MODEL] [--requests 200] [--clients 1,4,16]

Starts `cocite serve` over the index, asks for contexts drawn from its corpus (and titles with abstracts), and prints
percentiles, the part of the two stages, and what is left for HTTP and Ray Serve. With --url it asks a running one.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from cocite.cli.console import print_table
from cocite.corpus.store import Corpus
from cocite.retrieval.index.versions import VersionedFolder

WARM_UP = 20
START_S = 300


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
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    count = min(options.requests, 5000)
    texts = requests(options.index, count)
    clients = [int(number) for number in options.clients.split(",")]
    with endpoint(options) as url:
        rows = [
            {"request": kind, "clients": number, **measure(url, bodies, number)}
            for kind, bodies in texts.items()
            for number in clients
        ]
    columns = [
        "request",
        "clients",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "retrieve",
        "rerank",
        "Serve + HTTP",
        "req/s",
        "429",
    ]
    print_table(
        f"{platform.machine()}, {count} requests a line", columns, [[row[c] for c in columns] for row in rows]
    )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


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


@contextmanager
def endpoint(options: argparse.Namespace) -> Iterator[str]:
    """The address of a running endpoint; one of its own is ended again."""
    if options.url:
        yield options.url
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).with_name("cocite")), "serve", "--index", str(options.index)]
    command += ["--port", str(port)] + (["--model", str(options.model)] if options.model else [])
    begin = time.perf_counter()
    process = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}"
    try:
        while time.perf_counter() - begin < START_S and process.poll() is None:
            try:
                if httpx.get(f"{url}/v1/health", timeout=10).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.2)
        print(f"up in {time.perf_counter() - begin:.1f} s")
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def measure(url: str, bodies: list[dict[str, Any]], clients: int) -> dict[str, Any]:
    """Figures of all requests sent by some clients, each waiting for its answer before the next."""
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
            begin = time.perf_counter()
            done = list(pool.map(ask, bodies))
            seconds = time.perf_counter() - begin
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
        "req/s": len(good) / seconds,
        "429": len(done) - len(good),
    }


if __name__ == "__main__":
    main()
