"""The endpoint under load, with a real small cross-encoder, beside that cross-encoder alone in this process.

    .venv/bin/python -m benchmarks.serving --index INDEX [--backbone FOLDER] [--seconds 30] [--json FILE]

The model is all-MiniLM-L6-v2 with a head of random weights: its scores mean nothing, its work is real. One replica of
the reranker for each core. The cross-encoder alone scores the same pairs with as many threads before and after each
line, so that other work on the machine slows both; the CPU seconds of all the endpoint's processes a pair, against the
scorer's, hardly depend on it at all. Prints a table, and with --json writes it.

0. the queue without Ray: CPU seconds a pair of requests at once through the reranker's queue, against the scorer alone;
1. throughput: 1, 8 and 32 clients, pairs a second against the scorer alone, over the seconds in which all clients had
   a request under way; and the CPU seconds a second of each kind of process, at rest too;
2. small requests beside streams of large ones, against the same without;
3. clients that leave: the next request, against one without; by the default limits, and where requests may wait long;
4. ten times as many requests as can be answered, at an endpoint whose ``reranker.max_wait_s`` is 0.6 of the time of an
   unloaded request: what the accepted ones wait, what the refused ones wait, goodput and memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from transformers.utils import logging

from benchmarks._endpoint import cpu_by_kind, endpoint
from benchmarks._measured_process import provenance
from benchmarks._served_load import Call, Line, beside, closed_loop, leave, open_loop, percentile, steady_loop
from benchmarks.cross_encoder_scoring import minilm
from cocite.cli.console import print_table
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.versions import VersionedFolder
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.query_pairs import stack
from cocite.systems.cross_encoder.reranker import CrossEncoderReranker, load_cross_encoder
from cocite.text.pair_tokenizer import PairSettings
from cocite_serve.release import Release
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.settings import RerankerSettings

RERANK, SMALL, LARGE = 30, 5, 200
LOADS = (1, 8, 32)
QUERIES = 200
SCORER_PAIRS = 120
LEAVING = 1000
TIMES = 10
"""How many times the peak's requests are asked in part 4."""
OVERLOADS = 8
"""Rounds of that: memory that grows shows in the later ones."""
UNLOADED_LINES = 3
"""Lines of one client whose p99 the overloaded rounds are compared with: one line has few requests for a p99."""
CLIENTS = "clients"
REST_S = 10.0
PATIENT = ("--set", "request_timeout_s=240", "--set", "reranker.max_wait_s=200")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", type=Path, required=True, help="index folder with contexts, which are the requests"
    )
    parser.add_argument("--backbone", type=Path, help="a BERT's folder; by default all-MiniLM-L6-v2")
    parser.add_argument("--seconds", type=float, default=30, help="of each line")
    parser.add_argument("--parts", default="01234", help="which of the parts to run; 4 needs 1")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    logging.set_verbosity_error()
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch:
        model = write_model(options.backbone or minilm(), Path(scratch) / "model")
        alone = ScorerAlone(model, options.index, threads=cores)
        contexts = alone.contexts
        result: dict[str, Any] = {
            **provenance("serving"),
            "load before": os.getloadavg()[0],
        }
        if "0" in options.parts:
            result["queue in this process"] = queue_alone(model, options.index, alone)
        if set(options.parts) <= {"0"}:
            report(result, options.json)
            return
        replicas = ("--set", f"reranker.replicas={cores}")
        with endpoint(options.index, model, *replicas, *PATIENT) as (url, process):
            asyncio.run(closed_loop(url, bodies(contexts, RERANK), 2 * cores, 5))  # warm
            if "1" in options.parts:
                lines = throughput(url, process, contexts, alone, options.seconds)
                result["throughput"], result["CPU by process"] = lines
            if "2" in options.parts:
                result["beside large"] = fairness(url, contexts, options.seconds)
            if "3" in options.parts:
                result["leaving"] = departures(url, contexts, "200 s")
        if "3" in options.parts:
            with endpoint(options.index, model, *replicas) as (url, _):
                asyncio.run(closed_loop(url, bodies(contexts, RERANK), 2 * cores, 5))
                result["leaving"] += departures(url, contexts, "default")
        if "4" in options.parts:
            result["overload"], kind = overload(options, model, cores, contexts, result["throughput"])
            result["CPU by process"].append(kind)
    report(result, options.json)


def report(result: dict[str, Any], file: Path | None) -> None:
    """Print the result, and write it."""
    print(json.dumps(result, indent=1))
    for name, rows in result.items():
        if isinstance(rows, list):
            print_table(name, list(rows[0]), [list(row.values()) for row in rows])
    if file:
        file.write_text(json.dumps(result, indent=1) + "\n")


def write_model(backbone: Path, folder: Path) -> Path:
    """A model folder with a cross-encoder alone."""
    torch.manual_seed(0)
    CrossEncoder.from_pretrained(backbone, PairSettings(layout="local")).save(folder / "cross-encoder")
    return folder


def bodies(contexts: list[str], rerank: int) -> list[dict[str, Any]]:
    return [{"context": text, "rerank": rerank} for text in contexts]


class ScorerAlone:
    """The cross-encoder in this process, over the pairs that the endpoint's requests have."""

    def __init__(self, model: Path, folder: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        index = open_index(folder)
        places = np.random.default_rng(0).integers(len(index.corpus.contexts), size=QUERIES)
        self.contexts = index.corpus.contexts.take("text", places)
        cross: CrossEncoderReranker = load_cross_encoder(model, index.corpus, threads=threads)
        queries = [
            Query(str(i), context=text) for i, text in enumerate(self.contexts[: SCORER_PAIRS // RERANK])
        ]
        top = FirstStage(index).retrieve(queries, Options(depth=300)).ranking.top(RERANK)
        pairs = [cross.pairs(query, rows) for query, rows in zip(queries, top.rows, strict=True)]
        self.scorer, self.tokens = cross.scorer, float(np.mean([p.lengths.mean() for p in pairs]))
        self.left, self.right = stack([(each, slice(None)) for each in pairs])
        self.rate()

    def rate(self) -> tuple[float, float]:
        """Pairs a second, and CPU seconds a pair."""
        begin, begin_cpu = time.perf_counter(), time.process_time()
        self.scorer.logits(self.left, self.right)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
        return len(self.left) / seconds, cpu / len(self.left)


def queue_alone(model: Path, folder: Path, alone: ScorerAlone) -> list[dict[str, Any]]:
    """Part 0."""
    index = VersionedFolder(folder)
    release = Release(model, folder.resolve(), index.current())
    handle: Any = None
    retriever = Retriever(release)
    reranker = Reranker(release, handle, settings=RerankerSettings(max_wait_s=1e5))
    options = Options(rerank=RERANK, depth=300)
    queries = [Query(str(i), context=text) for i, text in enumerate(alone.contexts[: SCORER_PAIRS // RERANK])]

    async def retrieve() -> Any:
        return await asyncio.gather(*(retriever.retrieve(query, options) for query in queries))

    async def rerank(found: Any) -> Any:
        calls = [reranker.rerank(query, each, options) for query, each in zip(queries, found, strict=True)]
        return await asyncio.gather(*calls)

    found = asyncio.run(retrieve())
    rows = []
    before = alone.rate()[1]
    for _ in range(2):
        begin = time.process_time()
        read = sum(each.read for each in asyncio.run(rerank(found)))
        cpu = (time.process_time() - begin) / read
        after = alone.rate()[1]
        scorer = (before + after) / 2
        rows.append({"pairs": read, "CPU s a pair": cpu, "scorer's": scorer, "CPU share": scorer / cpu})
        before = after
    return rows


def throughput(
    url: str,
    process: subprocess.Popen[bytes],
    contexts: list[str],
    alone: ScorerAlone,
    seconds: float,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Part 1: the lines of throughput, and those of the CPU by process."""
    rows: list[dict[str, Any]] = []
    begin_kinds = processes(process)
    time.sleep(REST_S)
    kinds = [by_kind("none", begin_kinds, processes(process), REST_S, 0)]
    before = alone.rate()
    for clients in LOADS:
        begin, begin_kinds = time.perf_counter(), processes(process)
        line = asyncio.run(steady_loop(url, bodies(contexts, RERANK), clients, seconds))
        took, end_kinds = time.perf_counter() - begin, processes(process)
        cpu = sum(end_kinds[kind] - begin_kinds[kind] for kind in end_kinds if kind != CLIENTS)
        calls = line.within
        kinds.append(by_kind(f"{clients} clients", begin_kinds, end_kinds, took, len(line.calls)))
        after = alone.rate()
        read = sum(call.read for call in line.calls)
        pairs = sum(call.read for call in calls) / line.seconds
        rate, scorer_cpu = (before[0] + after[0]) / 2, (before[1] + after[1]) / 2
        rows.append(
            {
                "clients": clients,
                "pairs/s": pairs,
                "scorer alone": rate,
                "share": pairs / rate,
                "of one client": pairs / rows[0]["pairs/s"] if rows else 1.0,
                "CPU s a pair": cpu / read,
                "scorer's": scorer_cpu,
                "CPU share": scorer_cpu * read / cpu,
                "requests/s": sum(call.status == 200 for call in calls) / line.seconds,
                "p50 s": percentile(calls, 50),
                "p99 s": percentile(calls, 99),
                "429": sum(call.status == 429 for call in calls),
                "tokens a pair": alone.tokens,
            }
        )
        before = after
    return rows, kinds


def processes(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """CPU seconds so far of each kind of the endpoint's processes, and of the clients, which are this process."""
    return cpu_by_kind(process) | {CLIENTS: time.process_time()}


def by_kind(
    load: str, before: dict[str, float], after: dict[str, float], seconds: float, requests: int
) -> dict[str, Any]:
    """A line of the CPU by process: CPU seconds a second."""
    used = {kind: round((after[kind] - before[kind]) / seconds, 4) for kind in after}
    return {"load": load, "s": round(seconds, 1), "requests": requests} | used


def fairness(url: str, contexts: list[str], seconds: float) -> list[dict[str, Any]]:
    """Part 2."""
    rows: list[dict[str, Any]] = []
    count = max(20, int(2 * seconds))
    for streams in (0, 1, 2, 4, 8):
        small, large = asyncio.run(
            beside(
                url,
                bodies(contexts, SMALL),
                bodies(contexts, LARGE),
                streams,
                count if not streams else count // 2,
            )
        )
        rows.append(
            {
                "streams of large": streams,
                "small p50 s": percentile(small, 50),
                "small p95 s": percentile(small, 95),
                "of unloaded p95": percentile(small, 95) / rows[0]["small p95 s"] if rows else 1.0,
                "large answered": len(large),
                "large p50 s": percentile(large, 50) if large else 0.0,
            }
        )
    return rows


def departures(url: str, contexts: list[str], wait: str) -> list[dict[str, Any]]:
    """Part 3; ``wait``: what ``reranker.max_wait_s`` is."""
    rows: list[dict[str, Any]] = []

    def one() -> Call:
        [call] = asyncio.run(closed_loop(url, bodies(contexts, SMALL), 1, 0))
        return call

    unloaded = [one().seconds for _ in range(20)]
    for at_once in (50, 250, LEAVING) * 3:
        begin = time.perf_counter()
        asyncio.run(leave(url, bodies(contexts, LARGE), LEAVING, at_once, 0.5))
        took = time.perf_counter() - begin
        following = [one() for _ in range(3)]
        rows.append(
            {
                "may wait": wait,
                "clients that left": LEAVING,
                "at once": at_once,
                "took s": took,
                "unloaded p50 s": float(np.median(unloaded)),
                "unloaded p95 s": float(np.percentile(unloaded, 95)),
                "next s": following[0].seconds,
                "its status": following[0].status,
                "of unloaded p50": following[0].seconds / float(np.median(unloaded)),
                "the one after it s": following[1].seconds,
            }
        )
    return rows


def overload(
    options: argparse.Namespace, model: Path, cores: int, contexts: list[str], measured: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Part 4: a line for each round and one of all, and the line of the CPU by process."""
    unloaded, peak = measured[0]["p50 s"], max(row["requests/s"] for row in measured)
    impatient = ("--set", f"reranker.max_wait_s={0.6 * unloaded:.3f}")
    rows: list[dict[str, Any]] = []
    lines: list[Line] = []
    with endpoint(options.index, model, "--set", f"reranker.replicas={cores}", *impatient) as (url, process):
        asyncio.run(closed_loop(url, bodies(contexts, RERANK), 1, 5))  # warm
        single = asyncio.run(closed_loop(url, bodies(contexts, RERANK), 1, UNLOADED_LINES * options.seconds))
        before = memory(process)
        begin, begin_kinds = time.perf_counter(), processes(process)
        for number in range(OVERLOADS):
            line = asyncio.run(open_loop(url, bodies(contexts, RERANK), TIMES * peak, options.seconds))
            lines.append(line)
            row = overloaded(str(number + 1), [line], percentile(single, 99), peak)
            rows.append(row | {"MB before": before / 1e6, "MB after": memory(process) / 1e6})
        took, end_kinds = time.perf_counter() - begin, processes(process)
        total = overloaded("all", lines, percentile(single, 99), peak)
        rows.append(total | {key: rows[-1][key] for key in ("MB before", "MB after")})
    asked = sum(len(line.calls) for line in lines)
    return rows, by_kind(f"{TIMES} times the peak", begin_kinds, end_kinds, took, asked)


def overloaded(name: str, lines: list[Line], unloaded_p99: float, peak: float) -> dict[str, Any]:
    """A line of part 4, over the requests of some rounds."""
    calls = [call for line in lines for call in line.calls]
    good = [call for call in calls if call.status == 200]
    refused = [call for call in calls if call.status == 429]
    within = sum(call.status == 200 for line in lines for call in line.within)
    return {
        "round": name,
        "times capacity": TIMES,
        "requests": len(calls),
        "accepted": len(good),
        "other statuses": len(calls) - len(good) - len(refused),
        "unloaded p99 s": unloaded_p99,
        "accepted p50 s": percentile(good, 50),
        "accepted p99 s": percentile(good, 99),
        "of unloaded p99": percentile(good, 99) / unloaded_p99,
        "refused p50 s": percentile(refused, 50),
        "refused p99 s": percentile(refused, 99),
        "goodput of peak": within / sum(line.seconds for line in lines) / peak,
        "retry-after": sorted({call.retry_after for call in refused}),
    }


def memory(process: subprocess.Popen[bytes]) -> int:
    """Bytes that the endpoint's processes have to themselves."""
    total = 0
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            total += child.memory_full_info().uss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


if __name__ == "__main__":
    main()
