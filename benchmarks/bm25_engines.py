"""Lexical engines side by side on one corpus, in one run: bm25s, tantivy, Lance, a sparse product, and cocite's lists.

    python benchmarks/bm25_engines.py CORPUS --queries 2000 [--engines cocite,tantivy] [--json RESULTS.json]

Local queries: contexts of citing papers later than --after, with --long context, title and abstract; over title and
abstract. Each engine runs in a process of its own, so that memory is its own; the engines take turns and the best of
--rounds is kept. Times are of the CPU, which a busy machine disturbs least; every engine uses one thread. `single` is
the latency of one query asked alone for 1,000 papers; `exact` the share of the exact 1,000 among them; `block` that of
a query in blocks of 64 scored over all papers, as training and evaluation need it (not measured of engines that have
no such operation).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cocite.corpus.store import Corpus
from cocite.retrieval.index.documents import paper_texts
from cocite.text.gaps import strip_marks

K = 1000
SHARE = 100
"""One paper in this many is added at the end."""


def load(
    path: str, queries: int, after: int, long: bool
) -> tuple[list[str], list[str], list[int], list[list[int]]]:
    """Texts of papers, query texts, the queries' own papers, and their answers."""
    corpus = Corpus.open(path)
    positions = np.flatnonzero(corpus.years[corpus.context_citing] > after)
    chosen = np.sort(np.random.default_rng(0).choice(positions, min(queries, len(positions)), replace=False))
    texts = [strip_marks(text) for text in corpus.contexts.take("text", chosen)]
    if long:
        papers = corpus.papers_at(corpus.context_citing[chosen])
        texts = [f"{text} {p.title} {p.abstract}" for text, p in zip(texts, papers, strict=True)]
    answers = [corpus.context_cited[int(i)].tolist() for i in chosen]
    return list(paper_texts(corpus, "text")), texts, corpus.context_citing[chosen].tolist(), answers


def quality(found: Sequence[np.ndarray], own: list[int], answers: list[list[int]]) -> dict[str, float]:
    """MRR, R@10 and R@1000 of rankings, the query's own paper taken out."""
    reciprocal, at10, at1000 = [], [], []
    for rows, paper, relevant in zip(found, own, answers, strict=True):
        hits = np.isin(rows[rows != paper][:K], relevant)
        places = np.flatnonzero(hits)
        reciprocal.append(1 / (places[0] + 1) if len(places) else 0.0)
        at10.append(hits[:10].sum() / len(relevant))
        at1000.append(hits.sum() / len(relevant))
    return {"MRR": float(np.mean(reciprocal)), "R@10": float(np.mean(at10)), "R@1000": float(np.mean(at1000))}


def resident() -> float:
    """Resident memory of this process, MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


class Library:
    """The bm25s library as it comes."""

    def __init__(self, texts: list[str]) -> None:
        import bm25s

        self.tokenizer = bm25s.tokenization.Tokenizer(stopwords="english")
        ids = self.tokenizer.tokenize(texts, update_vocab=True, show_progress=False, allow_empty=False)
        self.engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self.engine.index((ids, self.tokenizer.get_vocab_dict()), show_progress=False)
        self.texts = texts

    def _ids(self, texts: list[str]) -> list[list[int]]:
        ids: list[list[int]] = self.tokenizer.tokenize(
            texts, update_vocab=False, show_progress=False, allow_empty=False
        )
        return ids

    def top(self, text: str) -> np.ndarray:
        scores = self.engine.get_scores_from_ids(self._ids([text])[0])
        best = np.argpartition(-scores, K)[: K + 1]
        return best[np.argsort(-scores[best], kind="stable")]

    def block(self, texts: list[str]) -> np.ndarray:
        return np.stack([self.engine.get_scores_from_ids(ids) for ids in self._ids(texts)])

    def add(self, texts: list[str]) -> None:
        Library([*self.texts, *texts])  # It cannot add: the whole index is made again.

    def save(self, folder: Path) -> None:
        self.engine.save(str(folder))


class Tantivy:
    """The tantivy search library, with the same words; a folder that holds its index is opened."""

    def __init__(self, texts: Iterable[str], folder: Path | None = None) -> None:
        import tantivy

        from cocite.text.tokens import STOP_WORDS, WordTokenizer

        self.library, self.words = tantivy, WordTokenizer().words
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", tokenizer_name="words", index_option="freq")
        builder.add_integer_field("row", fast=True)
        self.schema = builder.build()
        self.folder = folder or Path(tempfile.mkdtemp())
        self.index = tantivy.Index(self.schema, path=str(self.folder))
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(r"\w\w+"))
        stop = tantivy.Filter.custom_stopword(sorted(STOP_WORDS["english"]))
        self.index.register_tokenizer(
            "words", analyzer.filter(tantivy.Filter.lowercase()).filter(stop).build()
        )
        self.searcher = self.index.searcher()
        self.count = self.searcher.num_docs
        if not self.count:
            self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        writer = self.index.writer(heap_size=100_000_000, num_threads=1)
        for text in texts:
            writer.add_document(self.library.Document(text=text, row=self.count))
            self.count += 1
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def _search(self, text: str, k: int) -> tuple[np.ndarray, np.ndarray]:
        library = self.library
        terms = [library.Query.term_query(self.schema, "text", word) for word in self.words(text)]
        query = library.Query.boolean_query([(library.Occur.Should, term) for term in terms])
        hits = self.searcher.search(query, k, count=False).hits
        rows = self.searcher.fast_field_values("row", [address for _, address in hits])
        return np.array(rows, np.int64), np.array([score for score, _ in hits], np.float32)

    def top(self, text: str) -> np.ndarray:
        return self._search(text, K + 1)[0]

    def block(self, texts: list[str]) -> np.ndarray:
        result = np.zeros((len(texts), self.count), np.float32)
        for i, text in enumerate(texts):
            rows, scores = self._search(text, self.count)
            result[i, rows] = scores
        return result

    def save(self, folder: Path) -> None:
        shutil.copytree(self.folder, folder)


class Lance:
    """Lance's full-text index; the words are those of its own tokenizer."""

    def __init__(self, texts: list[str]) -> None:
        import lance
        import pyarrow as pa

        self.folder = Path(tempfile.mkdtemp()) / "papers.lance"
        self.data = lance.write_dataset(
            pa.table({"text": texts, "row": np.arange(len(texts))}), str(self.folder)
        )
        self._index()

    def _index(self) -> None:
        self.data.create_scalar_index("text", "INVERTED", with_position=False, stem=False, replace=True)

    def top(self, text: str) -> np.ndarray:
        query = " ".join(dict.fromkeys(text.lower().split()))
        found = self.data.to_table(columns=["row"], full_text_query=query, limit=K + 1)
        return found["row"].to_numpy()

    def add(self, texts: list[str]) -> None:
        import lance
        import pyarrow as pa

        more = pa.table({"text": texts, "row": np.arange(len(texts))})
        self.data = lance.write_dataset(more, str(self.folder), mode="append")
        self.data.optimize.optimize_indices()

    def save(self, folder: Path) -> None:
        shutil.copytree(self.folder, folder)


class Cocite:
    """cocite's own index, all postings read."""

    budget = 1 << 62

    def __init__(self, texts: list[str]) -> None:
        from cocite.retrieval.engines.bm25 import Bm25Index

        self.index = Bm25Index.build(texts)
        self.index.lists  # noqa: B018  Made on first use: part of building.

    def top(self, text: str) -> np.ndarray:
        return self.index.best(self.index.query_words([text]), 0, K + 1, budget=self.budget).rows

    def block(self, texts: list[str]) -> np.ndarray:
        return self.index.scores(texts)

    def add(self, texts: list[str]) -> None:
        self.index.append(texts).lists  # noqa: B018

    def save(self, folder: Path) -> None:
        from cocite.retrieval.engines.bm25_files import save_group

        save_group({"index": self.index}, folder)


class Budgeted(Cocite):
    """The same, with the first stage's budget of postings."""

    def __init__(self, texts: list[str]) -> None:
        from cocite.pipeline.pooled_signals import PoolLimits

        super().__init__(texts)
        self.budget = PoolLimits().postings


class Product(Cocite):
    """A sparse product in SciPy: the weights (N, V) times the query, then the best of all papers."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(texts)
        lists = self.index.lists
        shape = (len(self.index.vocabulary), len(self.index))
        self.weights = sp.csr_matrix((lists.weights, lists.rows, lists.indptr), shape=shape)

    def top(self, text: str) -> np.ndarray:
        scores = self.block([text])[0]
        best = np.argpartition(-scores, K)[: K + 1]
        return best[np.argsort(-scores[best], kind="stable")]

    def block(self, texts: list[str]) -> np.ndarray:
        words = self.index.query_words(texts)
        return np.ascontiguousarray((self.weights[words.words].T @ words.times.T).T)


ENGINES: dict[str, Callable[[list[str]], Any]] = {
    "bm25s": Library,
    "tantivy": Tantivy,
    "lance": Lance,
    "product": Product,
    "cocite": Cocite,
    "cocite-budget": Budgeted,
}


def measure(name: str, path: str, count: int, after: int, long: bool) -> dict[str, Any]:
    """One engine, from building to adding."""
    papers, queries, own, answers = load(path, count, after, long)
    before, start = resident(), time.process_time()
    engine = ENGINES[name](papers)
    built, memory = time.process_time() - start, resident() - before
    with tempfile.TemporaryDirectory() as folder:
        engine.save(Path(folder) / "index")
        disk = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()) / 1e6
    engine.top(queries[0])
    start = time.process_time()
    found = [engine.top(query) for query in queries]
    single = (time.process_time() - start) / len(queries)
    part, block = queries[:512], float("nan")
    if hasattr(engine, "block"):
        start = time.process_time()
        for i in range(0, len(part), 64):
            engine.block(part[i : i + 64])
        block = (time.process_time() - start) / len(part)
    exact = agreement(engine, found, queries[:200])
    new = papers[::SHARE]
    start = time.process_time()
    engine.add(new)
    added = time.process_time() - start
    return {
        "build s": built,
        "memory MB": memory,
        "disk MB": disk,
        "single ms": single * 1e3,
        "exact": exact,
        "block ms": block * 1e3,
        f"add {len(new)} s": added,
        **quality(found, own, answers),
    }


def agreement(engine: Any, found: Sequence[np.ndarray], queries: list[str]) -> float:
    """The share of the exact best papers that was found; NaN for an engine that has words of its own."""
    if not isinstance(engine, Cocite):
        return float("nan")
    index = engine.index
    exact = [index.best(index.query_words([query]), 0, K + 1).rows for query in queries]
    return float(
        np.mean([np.isin(rows, got).mean() for rows, got in zip(exact, found, strict=False) if len(rows)])
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument(
        "--after", type=int, default=2010, help="queries are contexts of papers later than this year"
    )
    parser.add_argument("--long", action="store_true", help="ask with title and abstract as well")
    parser.add_argument("--engines", default="bm25s,tantivy,product,cocite,cocite-budget")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in options.engines.split(",")}
    context = multiprocessing.get_context("spawn")
    for _ in range(options.rounds):
        for name in runs:
            # A pool of `multiprocessing` would wait for ever for a process that the system ends for want of memory.
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                asked = (name, options.corpus, options.queries, options.after, options.long)
                runs[name].append(pool.submit(measure, *asked).result())
    columns = list(next(iter(runs.values()))[0])
    best = {name: {c: min(run[c] for run in of) for c in columns} for name, of in runs.items()}
    print("| engine | " + " | ".join(columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for name, values in best.items():
        cells = [f"{values[c]:.4f}" if c[0] in "MR" else f"{values[c]:.2f}" for c in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")
    if options.json:
        options.json.write_text(json.dumps(best, indent=1) + "\n")


if __name__ == "__main__":
    main()
