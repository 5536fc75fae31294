"""Kinds of vector index side by side: time to build, latency of a query, recall, size.

    python -m benchmarks.vector_index --vectors 200000 --dimension 128 [--threads 1] [--json RESULTS.json]

The vectors are clustered, as papers of topics are; recall is the share of the exact best that are found. Beside
cocite's kinds stands RaBitQ (Gao and Long, 2024) in inverted lists, one bit a component, whose eightfold candidates get
exact scores as those of `ivfpq` do. Times are of the CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from cocite.protocols import Ranking
from cocite.retrieval.engines.vectors import KINDS, VectorIndex


def clustered(count: int, dimension: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Unit vectors around 1,000 centres."""
    centres = np.random.default_rng(1).standard_normal((1000, dimension)).astype(np.float32)
    vectors = rng.standard_normal((count, dimension), np.float32)
    vectors *= 0.8
    vectors += centres[rng.integers(1000, size=count)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


class RaBitQ:
    """FAISS's inverted lists of vectors of one bit a component, with exact scores of the candidates."""

    def __init__(self, vectors: NDArray[np.float32], threads: int) -> None:
        faiss.omp_set_num_threads(threads)
        dimension, lists = vectors.shape[1], int(4 * math.sqrt(len(vectors)))
        coarse = faiss.IndexFlatIP(dimension)
        self.engine = faiss.IndexIVFRaBitQ(coarse, dimension, lists, faiss.METRIC_INNER_PRODUCT)
        self.engine.cp.spherical = True
        self.engine.train(vectors[: 64 * lists])
        self.engine.add(vectors)
        self.exact = VectorIndex("flat", vectors, None)

    def search(self, queries: NDArray[np.float32], k: int) -> Ranking:
        """The ``k`` nearest of each query."""
        wanted = 8 * k
        probes = max(16, self.engine.nlist // 16, math.ceil(2 * wanted * self.engine.nlist / len(self.exact)))
        parameters = faiss.IVFRaBitQSearchParameters(nprobe=min(probes, self.engine.nlist))
        scores, rows = self.engine.search(queries, wanted, params=parameters)
        ranking = Ranking(rows.astype(np.int32), scores)
        return ranking.rescored(self.exact.similarities(queries, ranking.rows)).top(k)

    def save(self, folder: Path) -> None:
        """Write FAISS's file."""
        folder.mkdir()
        faiss.write_index(self.engine, str(folder / "index.faiss"))


def build(kind: str, vectors: NDArray[np.float32], threads: int) -> VectorIndex | RaBitQ:
    """An index of a kind."""
    if kind == "rabitq":
        return RaBitQ(vectors, threads)
    return VectorIndex.build(vectors, kind, threads=threads)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, "rabitq"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    vectors = clustered(options.vectors, options.dimension, np.random.default_rng(0))
    queries = clustered(options.queries, options.dimension, np.random.default_rng(2))
    exact = VectorIndex.build(vectors, "flat", threads=options.threads)
    truth = {k: exact.search(queries, k).rows for k in (10, 100, 1000)}
    results: dict[str, dict[str, Any]] = {}
    print(f"{options.vectors:,} vectors of {options.dimension} components, {options.threads} thread(s)\n")
    print("| kind | build s | index MB | ms a query, k = 100 | R@10 | R@100 | R@1000 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in options.kinds:
        start = time.process_time()
        index = build(kind, vectors, options.threads)
        built = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            index.save(Path(folder) / "index")
            size = (Path(folder) / "index" / "index.faiss").stat().st_size / 1e6
        start = time.process_time()
        for query in queries:
            index.search(query[None], 100)
        latency = (time.process_time() - start) / len(queries) * 1e3
        recall = {}
        for k, rows in truth.items():
            found = index.search(queries, k).rows
            recall[k] = float(np.mean([np.isin(a, b).mean() for a, b in zip(rows, found, strict=True)]))
        results[kind] = {"build_s": built, "index_mb": size, "ms": latency, "recall": recall}
        cells = [f"{built:.1f}", f"{size:.0f}", f"{latency:.2f}", *(f"{r:.3f}" for r in recall.values())]
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    if options.json:
        options.json.write_text(
            json.dumps({**vars(options), "json": None, "results": results}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
