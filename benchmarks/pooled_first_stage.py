"""The first stage by pools beside the dense one: what it finds, and the time of one query asked alone.

    python -m benchmarks.pooled_first_stage INDEX [--model DIR [--full]] [--ways dense,pooled] [--peers]

Queries are gaps and whole papers of the corpus' test split, with the papers that they cite as answers; build the index
with --before-split test, so that it knows none of them. `same` is the share of the
dense way's 100 best papers that a way gives, too. Times are milliseconds of one thread, of a query asked alone for 100
candidates with all their signals: by the clock, and of the CPU, which a busy machine disturbs less. Queries stand for
papers of the index, whose manuscripts' vectors are there; with --new they are asked as a new manuscript's, and with
--year-to YEAR they name the last year of the papers that they want.

With --full the lists are those of the whole pipeline of the model folder over the candidates of each way; times stay
those of the first stage, with the forward passes of the model's encoders. An index in shards has no dense way.

With --model a second table gives the milliseconds of each encoder's forward passes in such a query, and for a sentence
encoder their FLOPs and the time that these take at the peak of one core.

With --peers two engines search the same papers in the same run, for their best 1,000 alone: tantivy by title and
abstract, and FAISS by inverted lists over random vectors of 64 components.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch

from benchmarks._encoder_times import encoder_times, sentence_limit
from cocite.evaluation.tasks import TASKS, EvalTask, build
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.documents import paper_texts
from cocite.retrieval.index.opening import SavedIndex, open_index
from cocite.systems.sentence_encoder.encoder import SentenceEncoder

WARM = 5
"""Queries asked before times are taken."""


def quality(rows: np.ndarray, task: EvalTask) -> dict[str, float]:
    """R@10, R@100, R@1000 and MRR of a ranking."""
    recall: dict[int, list[float]] = {10: [], 100: [], 1000: []}
    reciprocal = []
    for i, found in enumerate(rows):
        hits = np.isin(found, task.relevant[i])
        for k, of in recall.items():
            of.append(hits[:k].sum() / len(task.relevant[i]))
        reciprocal.append(1 / (int(hits.argmax()) + 1) if hits.any() else 0.0)
    return {f"R@{k}": float(np.mean(of)) for k, of in recall.items()} | {"MRR": float(np.mean(reciprocal))}


def times(ask: Callable[[Query], Any], queries: Sequence[Query]) -> dict[str, float]:
    """Median and 95th percentile of the milliseconds of one query."""
    for query in queries[:WARM]:
        ask(query)
    wall, cpu = [], []
    for query in queries:
        start, begun = time.perf_counter(), time.thread_time()
        ask(query)
        wall.append(1e3 * (time.perf_counter() - start))
        cpu.append(1e3 * (time.thread_time() - begun))
    return {
        "p50": float(np.median(wall)),
        "p95": float(np.quantile(wall, 0.95)),
        "cpu p50": float(np.median(cpu)),
    }


def retrieve(stage: FirstStage, query: Query, year_to: int | None = None) -> Any:
    """100 candidates with all their signals."""
    return stage.retrieve([query], Options(depth=100, year_to=year_to))


def encoder_table(model: str, stage: FirstStage, queries: dict[str, Sequence[Query]]) -> str:
    """The encoders' forward passes of a query, as Markdown."""
    lines = ["| queries | encoder | ms | tokens | GFLOP | ms at the peak |", "|" + " --- |" * 6]
    encoders = [retriever.encoder for retriever in stage.signals.encoders.values()]
    for kind, of_kind in queries.items():
        spent = encoder_times(partial(retrieve, stage), of_kind, encoders)
        for encoder in encoders:
            cells = [""] * 3
            if isinstance(encoder, SentenceEncoder):
                limit = sentence_limit(encoder, str(Path(model) / encoder.name), of_kind)
                cells = [f"{limit['tokens']:.0f}", f"{limit['gflop']:.2f}", f"{limit['peak ms']:.1f}"]
            lines.append(
                f"| {kind} | {encoder.name} | {spent[encoder.name]:.1f} | " + " | ".join(cells) + " |"
            )
    return "\n".join(lines)


def peers(index: SavedIndex, queries: Sequence[Query]) -> dict[str, dict[str, float]]:
    """The times of tantivy and FAISS for their best 1,000 papers."""
    from benchmarks.bm25_engines import Tantivy

    tantivy = Tantivy(list(paper_texts(index.corpus, "text")))
    rng = np.random.default_rng(0)
    lists = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(64), 64, int(4 * len(index) ** 0.5), faiss.METRIC_INNER_PRODUCT
    )
    vectors = rng.standard_normal((len(index), 64), np.float32)
    faiss.omp_set_num_threads(1)
    lists.train(vectors[: 64 * lists.nlist])
    lists.add(vectors)
    lists.nprobe = max(16, lists.nlist // 16)
    return {
        "tantivy, 1,000": times(lambda query: tantivy.top(f"{query.title} {query.abstract}"), queries),
        "FAISS IVF, 1,000": times(
            lambda _: lists.search(rng.standard_normal((1, 64), np.float32), 1000), queries
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index")
    parser.add_argument("--model")
    parser.add_argument(
        "--queries", type=int, default=600, help="of which the answers are judged, of each kind"
    )
    parser.add_argument("--timed", type=int, default=100, help="of which the time is taken, of each kind")
    parser.add_argument("--ways", default="dense,pooled")
    parser.add_argument(
        "--new", action="store_true", help="time queries of papers that the index does not know"
    )
    parser.add_argument("--year-to", type=int, help="time queries that name a last year")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--full", action="store_true", help="judge the whole pipeline's lists")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    index = open_index(options.index)
    recommenders = {}
    for way in options.ways.split(","):
        recommenders[way] = Recommender.over(options.model, index)
        recommenders[way].first.dense = way == "dense"
    results: dict[str, dict[str, dict[str, float]]] = {}
    asked: dict[str, Sequence[Query]] = {}
    for kind in TASKS:
        task = build(index.corpus, kind, sample=options.queries)
        dense = None
        results[kind], asked[kind] = {}, task.queries[: options.timed]
        if options.new:
            asked[kind] = [replace(query, paper=NO_ROW) for query in asked[kind]]
        for way, recommender in recommenders.items():
            stage = recommender.first
            search = recommender.search if options.full else stage.search
            rows = search(task.queries, 1000).rows
            dense = rows if dense is None else dense
            same = np.mean([np.isin(a[:100], b[:100]).mean() for a, b in zip(dense, rows, strict=True)])
            measured = times(partial(retrieve, stage, year_to=options.year_to), asked[kind])
            results[kind][way] = {**quality(rows, task), "same": float(same), **measured}
        if options.peers and kind == "global":
            results[kind] |= peers(index, asked[kind])
    columns = ["R@10", "R@100", "R@1000", "MRR", "same", "p50", "p95", "cpu p50"]
    print(f"{len(index):,} papers, {len(index.history.contexts):,} contexts, {len(index.shards)} shard(s)\n")
    print("| queries | way | " + " | ".join(columns) + " |")
    print("|" + " --- |" * (len(columns) + 2))
    for kind, ways in results.items():
        for way, values in ways.items():
            digits = {column: 1 if column[0] in "pc" else 4 for column in columns}
            cells = [f"{values[c]:.{digits[c]}f}" if c in values else "" for c in columns]
            print(f"| {kind} | {way} | " + " | ".join(cells) + " |")
    if options.model:
        print("\n" + encoder_table(options.model, next(iter(recommenders.values())).first, asked))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
