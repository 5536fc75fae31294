"""The tables of HAtten + SciBERT and of BM25 + SciBERT for any corpus: prefetching, reranking, and both together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError, nearest
from cocite.evaluation import experiment, systems, tasks
from cocite.evaluation.baselines import Bm25Baseline
from cocite.evaluation.experiment import Rank
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import Measurement, measure
from cocite.evaluation.oracle import CachedReranker, add_relevant, rerank_head
from cocite.evaluation.report import Report, Table, marked_table
from cocite.evaluation.tasks import EvalTask
from cocite.pipeline import components as members
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query, Ranking, Reranker
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.query_forms import QueryForm
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.systems.cross_encoder.reranker import CrossEncoderReranker
from cocite.text.pairs import PairTokenizer

TABLES = {
    "prefetching": "each retriever alone (HAtten, Table 2)",
    "reranking": "candidates that hold every cited paper, reranked (HAtten, Table 3)",
    "pipeline": "retriever and reranker, by the number of reranked candidates (HAtten, Table 4)",
    "time": "reranking time by that number (HAtten, Figure 4)",
    "forms": "what of a query BM25 is asked (Nogueira et al., Table 4)",
    "budgets": "tokens given to the query (Nogueira et al., Figure 1)",
}
PREFETCHERS = ("bm25", "nnselect", "hatten", "sentence", "first-without-neural", "first")
PREFETCHING = ("MRR", "R@10", "R@100", "R@200", "R@500", "R@1000", "R@2000")
RERANKING = {"local": ("R@10", "MRR"), "global": ("F1@20", "MRR")}
"""What tables of reranking show, by task; those by depth show the first alone."""
DEPTHS = (10, 20, 50, 100)
DEEPEST = 2000
SHARES = (0.25, 0.375, 0.5, 0.625, 0.75)
"""Parts of a pair's tokens that the query gets in the table of budgets."""
TIMED = 20
"""Queries that the time is measured on."""
BLOCK = 64
"""Queries ranked at a time."""

Bar = Callable[[str, int | None], Any]


def reranking_tables(
    corpus: Corpus,
    model: Path,
    *,
    only: Sequence[str] | None = None,
    task: str = "local",
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    depths: Sequence[int] = DEPTHS,
    oracle_depth: int = 100,
    saved: Path | None = None,
    bar: Bar | None = None,
) -> Report:
    """Measure a model folder as the two papers measure their systems.

    Args:
        corpus: papers, links and contexts.
        model: model folder; systems whose parts it lacks have no row.
        only: some of :data:`TABLES`; by default all that the model folder has the parts for.
        task: ``local`` or ``global``.
        split: whose papers ask.
        sample: so many of the queries.
        seed: draws the sample.
        depths: numbers of reranked candidates.
        oracle_depth: candidates of the reranking table (the paper's are 2,000).
        saved: an index folder of the corpus, whose vectors are taken.
        bar: makes a progress bar from a description and a total.
    """
    for name in only or ():
        if name not in TABLES:
            raise InputError(f"there is no table {name!r} here", where="--only", hint=nearest(name, TABLES))
    if min(depths, default=0) < 1:
        raise InputError(f"{min(depths, default=0)}: candidates are counted from 1", where="--depths")
    if oracle_depth < 2:
        raise InputError(f"{oracle_depth} candidates are too few: an oracle needs 2", where="--oracle-depth")
    crossed = "cross-encoder" in members.check(model)
    wanted = list(only or (TABLES if crossed else ("prefetching", "forms")))
    if not crossed and set(wanted) - {"prefetching", "forms"}:
        raise InputError(
            "holds no cross-encoder, which this table measures",
            where=str(model),
            hint="train one into it: cocite train cross-encoder-small …",
        )
    progress = bar or (lambda *_: nullcontext(lambda _=1: None))
    made = _Tables(corpus, model, task, split, sample, seed, saved, progress)
    makers: dict[str, Callable[[], Table]] = {
        "prefetching": made.prefetching,
        "reranking": lambda: made.reranking(oracle_depth),
        "pipeline": lambda: made.pipeline(sorted(set(depths))),
        "time": lambda: made.time(sorted(set(depths))),
        "forms": made.forms,
        "budgets": lambda: made.budgets(min(depths)),
    }
    return Report("Prefetching and reranking", dict(made.facts), [makers[name]() for name in wanted])


class _Tables:
    """One index, one set of queries and one memory of pair scores for all tables."""

    def __init__(
        self,
        corpus: Corpus,
        model: Path,
        task: str,
        split: str,
        sample: int | None,
        seed: int,
        saved: Path | None,
        bar: Bar,
    ) -> None:
        self.model, self.bar = model, bar
        self.offered = systems.available(model)
        self.task: EvalTask = tasks.build(corpus, task, split, sample=sample, seed=seed)
        self.metrics = RERANKING[task]
        self.facts = {
            "corpus": str(corpus.path),
            "task": task,
            "split": split,
            "queries": len(self.task),
            "model": str(model),
        }
        opened = IndexSnapshot.open(saved) if saved is not None else None
        with bar("indexing", None) as advance:
            history = tasks.history_before(corpus, split)
            encoders = members.load_encoders(model)
            self.index = index_of(corpus, history, encoders, saved=opened, advance=advance)

    # -- retrieval -------------------------------------------------------------------------------------------

    def prefetching(self) -> Table:
        """MRR, recall at growing depths, and the time of a query."""
        ranks: dict[str, Rank] = {}
        if self.task.name == "local":
            ranks["bm25 (context)"] = Bm25Baseline(self.index, QueryForm.CONTEXT).search
        for name in PREFETCHERS:
            if name in self.offered:
                ranks[name] = self._system(name)
        measured, times = {}, []
        for name, rank in ranks.items():
            outcome = self._run(name, rank)
            measured[name] = measure(outcome.hits, PREFETCHING)
            times.append(outcome.milliseconds)
        note = "Time: a query's share of its batch, encoding included."
        return marked_table("prefetching", measured, "bm25", more={"ms per query": times}, note=note)

    def forms(self) -> Table:
        """BM25 of each form of the query."""
        local = self.task.name == "local"
        metrics = ("MRR", "R@10", "R@100", "R@1000") if local else ("F1@20", "MRR", "R@1000")
        forms = [form for form in QueryForm if local or "context" not in form]
        measured = {
            str(form): measure(self._run(form, Bm25Baseline(self.index, form).search).hits, metrics)
            for form in forms
        }
        return marked_table("BM25 by form of the query", measured, str(QueryForm.TITLE_ABSTRACT))

    # -- reranking -------------------------------------------------------------------------------------------

    @cached_property
    def cross(self) -> CachedReranker:
        """The cross-encoder of the model folder."""
        found = members.load_cross_encoder(self.model, self.index)
        assert found is not None
        return CachedReranker(found)

    def reranking(self, depth: int) -> Table:
        """BM25's candidates with every cited paper among them, in BM25's order and in the reranker's."""
        found = self._ranked("bm25", self._system("bm25"), depth)
        oracle = add_relevant(found, self.task.relevant)
        scores = self._scores(oracle, self.cross, "oracle candidates")
        measured = {
            "bm25": self._measured(oracle),
            self.cross.name: self._measured(rerank_head(oracle, scores, oracle.depth)),
        }
        note = f"{oracle.depth} candidates; a cited paper that BM25 missed stands in place of the last ones."
        return marked_table("reranking, oracle BM25", measured, "bm25", note=note)

    def pipeline(self, depths: Sequence[int]) -> Table:
        """One row a pipeline, one column a number of reranked candidates."""
        rows: dict[str, list[Measurement]] = {}
        for name in ("bm25", "hatten", "first"):
            if name not in self.offered:
                continue
            found = self._ranked(name, self._system(name), max(depths[-1], 20))
            scores = self._scores(found.top(depths[-1]), self.cross, f"candidates of {name}")
            rows[name] = [self._measured(found)] * len(depths)
            rows[f"{name} + {self.cross.name}"] = [
                self._measured(rerank_head(found, scores, depth)) for depth in depths
            ]
        recommender = Recommender.over(self.model, self.index)
        if recommender.second.fusions:
            recommender.second.cross_encoder = self.cross
            rows["first + fusion"] = [self._measured(self._fused(recommender, 0))] * len(depths)
            rows[f"first + fusion + {self.cross.name}"] = [
                self._measured(self._fused(recommender, depth)) for depth in depths
            ]
        tables = [
            marked_table("", {name: values[i] for name, values in rows.items()}, next(iter(rows)))
            for i in range(len(depths))
        ]
        cells = [[name, *(table.rows[j][1] for table in tables)] for j, name in enumerate(rows)]
        columns = ["pipeline", *(f"{depth} reranked" for depth in depths)]
        title = f"{self.metrics[0]} by the number of reranked candidates"
        return Table(title, columns, cells, tables[0].note)

    def time(self, depths: Sequence[int]) -> Table:
        """Milliseconds of a query, by the number of its candidates."""
        queries = self.task.queries[:TIMED]
        source = "first" if "first" in self.offered else "bm25"
        found = self._system(source)(queries, depths[-1])
        reranker = self.cross.reranker
        reranker.score(queries, found)  # what is prepared once a paper is not a query's time
        rows = []
        for depth in depths:
            seconds = []
            for i, query in enumerate(queries):
                one = Ranking(found.rows[i : i + 1, :depth], found.scores[i : i + 1, :depth])
                began = time.perf_counter()
                reranker.score([query], one)
                seconds.append(time.perf_counter() - began)
            median = float(np.median(seconds))
            rows.append([depth, 1000 * median, depth / median])
        note = f"One query at a time, candidates' tokens at hand; median of {len(queries)} queries."
        return Table("reranking time", ["candidates", "ms per query", "pairs/s"], rows, note)

    def budgets(self, depth: int) -> Table:
        """The first stage's best, reranked with more and more of a pair's tokens given to the query."""
        model = CrossEncoder.load(self.model)
        settings = model.pairs.settings
        found = self._ranked("first", self._system("first"), max(depth, 20))
        measured = {}
        total = settings.total
        for share in SHARES:
            query = round(share * total)
            name = f"{query} + {total - query}"
            split = {"query_tokens": query, "candidate_tokens": total - query, "share": False}
            model.set_pairs(PairTokenizer(model.pairs.tokenizer, settings.model_copy(update=split)))
            scores = self._scores(
                found.top(depth), CrossEncoderReranker(PairScorer(model), self.task.corpus), f"{name} tokens"
            )
            measured[name] = self._measured(rerank_head(found, scores, depth))
        half = f"{round(0.5 * total)} + {total - round(0.5 * total)}"
        note = f"{depth} candidates of the first stage; tokens of query + candidate; the same weights in each row."
        return marked_table("token budgets", measured, half, note=note)

    # -- helpers ---------------------------------------------------------------------------------------------

    def _system(self, name: str) -> Rank:
        return systems.open_system(name, self.model, self.index)

    def _run(self, name: str, rank: Rank) -> experiment.EvalResult:
        with self.bar(f"ranking: {name}", len(self.task)) as advance:
            return experiment.run(self.task, rank, k=DEEPEST, batch=BLOCK, advance=advance)

    def _measured(self, ranking: Ranking) -> Measurement:
        return measure(Hits.of(ranking, self.task.relevant), self.metrics)

    def _blocks(self, name: str, rank: Callable[[Sequence[Query], slice], Any]) -> list[Any]:
        """What is found for each block of the task's queries."""
        parts = []
        with self.bar(name, len(self.task)) as advance:
            for start in range(0, len(self.task), BLOCK):
                block = slice(start, start + BLOCK)
                parts.append(rank(self.task.queries[block], block))
                advance(len(self.task.queries[block]))
        return parts

    def _ranked(self, name: str, rank: Rank, depth: int) -> Ranking:
        parts = self._blocks(f"ranking: {name}", lambda queries, _: rank(queries, depth))
        return Ranking(
            np.concatenate([part.rows for part in parts]), np.concatenate([part.scores for part in parts])
        )

    def _scores(self, found: Ranking, reranker: Reranker, name: str) -> NDArray[np.float32]:
        """(Q, k) scores of candidates."""

        def score(queries: Sequence[Query], block: slice) -> NDArray[np.float32]:
            return reranker.score(queries, Ranking(found.rows[block], found.scores[block]))

        return np.concatenate(self._blocks(f"reranking: {name}", score))

    def _fused(self, recommender: Recommender, rerank: int) -> Ranking:
        """What the whole pipeline answers when the cross-encoder reads so many candidates."""
        name = f"fusion, {rerank} reranked" if rerank else "fusion"
        return self._ranked(name, lambda queries, k: recommender.rank(queries, k, rerank=rerank), 100)
