"""The steps of ``benchmarks.scale`` that are no commands of cocite; each runs in a process of its own.

    python -m benchmarks._scale_steps STEP CORPUS FOLDER [--queries N]

Every step prints a JSON object. Queries are asked one at a time, as an author would ask: gaps with title and abstract
(local), and titles with abstracts (global), of papers in the corpus; the peers are asked the same queries.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measured_process import resident
from benchmarks._timed_first_stage import STEPS, TimedFirstStage
from benchmarks.bm25_engines import Tantivy
from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import Corpus
from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite.retrieval.index.documents import paper_texts
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.opening import SavedIndex, open_index
from cocite.text.gaps import strip_marks

DEPTH = 100
"""Candidates with all their signals."""
PEERS_DEPTH = 1000
"""Papers that a peer gives."""
WARM = 20
"""Queries asked before times are taken, others than those that are timed."""
DIMENSION = 64
"""Components of the vectors that FAISS searches."""
BLOCK = 1 << 18
"""Vectors made at a time."""


def sampled(corpus: Corpus, kind: str, count: int) -> list[Query]:
    """Queries of random papers that cite."""
    rng = np.random.default_rng(0)
    if kind == "local":
        positions = rng.choice(len(corpus.contexts), min(count, len(corpus.contexts)), replace=False)
        rows, texts = corpus.context_citing[positions], corpus.contexts.take("text", positions)
    else:
        citing = np.flatnonzero(corpus.cites.degrees)
        rows = rng.choice(citing, min(count, len(citing)), replace=False)
        texts = [""] * len(rows)
    return [
        Query(f"q{i}", text, p.title, p.abstract, p.year, tuple(p.authors), p.venue, paper=int(row))
        for i, (row, text, p) in enumerate(zip(rows, texts, corpus.papers_at(rows), strict=True))
    ]


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    return {
        "p50": round(1e3 * float(np.median(seconds)), 3),
        "p95": round(1e3 * float(np.quantile(seconds, 0.95)), 3),
    }


def times(
    ask: Callable[[Query], Any], queries: Sequence[Query], after: Callable[[], None], turns: int = 1
) -> dict[str, Any]:
    """The times of queries asked one by one.

    Args:
        ask: answers one.
        queries: the first of them, :data:`WARM`, are not timed.
        after: called behind each that is timed.
        turns: how often each is asked; the last time counts, when the pages that it needs are in memory.
    """
    start = time.perf_counter()
    ask(queries[0])
    first = time.perf_counter() - start
    for query in queries[1:WARM]:
        ask(query)
    wall, cpu = [], []
    for query in queries[WARM:]:
        for _ in range(turns - 1):
            ask(query)
        start, begun = time.perf_counter(), time.thread_time()
        ask(query)
        wall.append(time.perf_counter() - start)
        cpu.append(time.thread_time() - begun)
        after()
    return {
        "queries": len(wall),
        "turns": turns,
        "first_ms": round(1e3 * first, 1),
        "ms": spread(wall),
        "cpu_ms": spread(cpu),
    }


def memory() -> dict[str, float]:
    """The resident memory of this process now, by kind, in MB."""
    gc.collect()
    now = resident()
    return {
        "anonymous_mb": round(now["RssAnon"] / 1e6, 1),
        "mapped_mb": round((now["RssFile"] + now.get("RssShmem", 0)) / 1e6, 1),
    }


# -- cocite -------------------------------------------------------------------------------------------------------


def opened(folder: Path) -> tuple[dict[str, Any], TimedFirstStage]:
    """Open an index and a first stage over it; what that takes, and what the index holds."""
    warm_up()
    report: dict[str, Any] = {"before": memory()}
    start, cpu = time.perf_counter(), time.process_time()
    index = open_index(folder, verified=True)
    report |= {"index_s": round(time.perf_counter() - start, 2), "vocabularies": memory()}
    _ = index.cited_by_context
    report["contexts"] = memory()
    stage = TimedFirstStage(index, dense=False)
    return {
        **report,
        "open_s": round(time.perf_counter() - start, 2),
        "open_cpu_s": round(time.process_time() - cpu, 2),
        "open": memory(),
        "counts": counts(index),
        "bytes": part_bytes(index.path),
    }, stage


def warm_up() -> None:
    """Load the modules and the kernels of a query, which are no matter of scale."""
    corpus = starter_corpus()
    stage = TimedFirstStage(Index.build(corpus, History.all(corpus)), dense=False)
    for kind in ("local", "global"):
        stage.retrieve(sampled(corpus, kind, 1), Options(depth=DEPTH))


def counts(index: SavedIndex) -> dict[str, int]:
    """How much an index holds."""
    vocabularies = [path for path in index.path.rglob("vocabulary.txt") if "shards" not in path.parts]
    return {
        "papers": len(index),
        "contexts": len(index.history.contexts),
        "links": int(index.corpus.cites.degrees.sum()),
        "words": sum(path.read_bytes().count(b"\n") + 1 for path in vocabularies),
        "shards": len(index.shards),
    }


def part_bytes(version: Path) -> dict[str, int]:
    """Bytes of a version by what they grow with: files of the corpus by name, of the shards by their kind."""
    result: dict[str, int] = {}
    for path in version.rglob("*"):
        if path.is_file():
            part = part_of(path.relative_to(version).parts)
            result[part] = result.get(part, 0) + path.stat().st_size
    return dict(sorted(result.items()))


def part_of(names: tuple[str, ...]) -> str:
    """The part that a file of a version belongs to.

    ``corpus: ...`` and ``words`` are of the coordinator, the others of the shards; of an index that is searched whole
    the vocabularies count as words.
    """
    if names[0] == "shards":
        names = names[2:]
    file = names[-1]
    if names[0] == "corpus":
        return f"corpus: {file.partition('.')[0]}"
    if names[0] == "words" or file.startswith("vocabulary"):
        return "words"
    if len(names) == 3 and names[0] in ("papers", "contexts"):
        field, what = names[1], file.rpartition(".")[0]
        if what in ("lists.indptr", "idf"):
            return "words by shard"
        return f"{field}: {'lists' if what.startswith('lists') else 'counts'}"
    return "marks"


def ask(corpus: Path, folder: Path, kind: str, count: int, turns: int) -> dict[str, Any]:
    """Queries of one kind, in total and by step."""
    _, stage = opened(folder)
    spent: dict[str, list[float]] = {step: [] for step in STEPS}
    spent_cpu: dict[str, list[float]] = {step: [] for step in STEPS}

    def after() -> None:
        for step in STEPS:
            spent[step].append(stage.clock.wall[step])
            spent_cpu[step].append(stage.clock.cpu[step])
        stage.clock.reset()

    def retrieve(query: Query) -> None:
        stage.clock.reset()
        stage.retrieve([query], Options(depth=DEPTH))

    result = times(retrieve, sampled(stage.index.corpus, kind, count + WARM), after, turns)
    return {
        **result,
        "steps_ms": {step: spread(seconds) for step, seconds in spent.items()},
        "steps_cpu_ms": {step: spread(seconds) for step, seconds in spent_cpu.items()},
        "memory": memory(),
    }


# -- the peers ----------------------------------------------------------------------------------------------------


def tantivy_build(corpus: Path, folder: Path) -> dict[str, Any]:
    """Titles and abstracts, one thread; without contexts, links and authors."""
    engine = Tantivy(paper_texts(Corpus.open(corpus), "text"), folder)
    return {"papers": engine.count}


def tantivy_ask(corpus: Path, folder: Path, kind: str, count: int, turns: int) -> dict[str, Any]:
    """The 1,000 best papers: of a local query by its context, of a global one by title and abstract."""
    queries = sampled(Corpus.open(corpus), kind, count + WARM)
    engine = Tantivy((), folder)

    def top(query: Query) -> None:
        engine.top(strip_marks(query.context) if kind == "local" else f"{query.title} {query.abstract}")

    return {**times(top, queries, lambda: None, turns), "memory": memory()}


def vectors(count: int, seed: int) -> np.ndarray:
    """Random unit vectors (n, 64)."""
    made = np.random.default_rng(seed).standard_normal((count, DIMENSION), np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def faiss_build(corpus: Path, folder: Path) -> dict[str, Any]:
    """Inverted lists over a vector for each paper, one thread."""
    import faiss

    papers = len(Corpus.open(corpus))
    faiss.omp_set_num_threads(1)
    lists = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(DIMENSION), DIMENSION, int(4 * papers**0.5), faiss.METRIC_INNER_PRODUCT
    )
    lists.train(vectors(min(papers, DIMENSION * lists.nlist), 1))
    for block, start in enumerate(range(0, papers, BLOCK)):
        lists.add(vectors(min(BLOCK, papers - start), 2 + block))
    folder.mkdir(parents=True, exist_ok=True)
    faiss.write_index(lists, str(folder / "lists.faiss"))
    return {"papers": lists.ntotal, "lists": lists.nlist}


def faiss_ask(corpus: Path, folder: Path, _kind: str, count: int, turns: int) -> dict[str, Any]:
    """The 1,000 nearest of random vectors; a sixteenth of the lists is searched, at least 16."""
    import faiss

    faiss.omp_set_num_threads(1)
    lists = faiss.read_index(str(folder / "lists.faiss"))
    lists.nprobe = max(16, lists.nlist // 16)
    asked = vectors(count + WARM, 0)
    queries = [Query(f"q{i}", paper=i) for i in range(count + WARM)]
    result = times(
        lambda query: lists.search(asked[query.paper][None], PEERS_DEPTH), queries, lambda: None, turns
    )
    return {**result, "nprobe": lists.nprobe, "memory": memory()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--turns", type=int, default=1)
    options = parser.parse_args()
    corpus, folder, count = options.corpus, options.folder, options.queries
    engine, _, kind = options.step.partition(" ")
    asked = {"cocite": ask, "tantivy": tantivy_ask, "faiss": faiss_ask}
    match kind:
        case "open":
            result = opened(folder)[0]
        case "build":
            result = {"tantivy": tantivy_build, "faiss": faiss_build}[engine](corpus, folder)
        case _:
            result = asked[engine](corpus, folder, kind, count, options.turns)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
