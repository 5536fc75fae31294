"""The tables of HAtten + SciBERT and of BM25 + SciBERT for any corpus: prefetching, reranking, and both together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
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
from cocite.pipeline import components
from cocite.pipeline.recommender import Recommender
from cocite.progress_bars import ProgressBars, no_bars
from cocite.protocols import Query, Ranking, Reranker
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.query_forms import QueryForm
from cocite.systems.baselines.train import NAMES, BaselineSettings, TrainedBaselines
from cocite.systems.baselines.train import RERANKERS as BASELINE_RERANKERS
from cocite.systems.baselines.vectors import VectorBaseline
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.systems.cross_encoder.reranker import CrossEncoderReranker
from cocite_jobs.tables.token_splits import table_of_splits

TABLES = {
    "prefetching": "each retriever alone (HAtten, Table 2)",
    "reranking": "candidates that hold every cited paper, reranked (HAtten, Table 3)",
    "pipeline": "retriever and reranker, by the number of reranked candidates (HAtten, Table 4)",
    "time": "reranking time by that number (HAtten, Figure 4)",
    "forms": "BM25 by the text of the query that it matches (Nogueira et al., Table 4)",
    "budgets": "tokens given to the query (Nogueira et al., Figure 1)",
    "bm25": "BM25, and the cross-encoder over its candidates (Nogueira et al., Table 2)",
}
"""Name of a table -> its content and its source."""
PREFETCHERS = ("bm25", "nnselect", "hatten", "sentence", "first-without-neural", "first")
"""Systems of the prefetching table; those that a model folder lacks have no row."""
RERANKED = ("bm25", "hatten", "first")
"""Systems whose candidates the pipeline table reranks."""
PREFETCHING = ("MRR", "R@10", "R@100", "R@200", "R@500", "R@1000", "R@2000")
"""Metrics of the prefetching table."""
RERANKING = {"local": ("R@10", "MRR"), "global": ("F1@20", "MRR")}
"""Metrics of the reranking tables by task; tables by depth show the first alone."""
DEPTHS = (10, 20, 50, 100)
"""Numbers of reranked candidates by default."""
DEEPEST = 2000
"""Depth of the prefetching table's rankings: its last metric is R@2000."""
TIMED = 20
"""Queries that the time is measured on."""
BLOCK = 64
"""Queries ranked at a time."""


def reranking_tables(
    corpus: Corpus,
    model: Path,
    *,
    only: Sequence[str] | None = None,
    task: str = "local",
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    min_citations: int | None = None,
    depths: Sequence[int] = DEPTHS,
    oracle_depth: int = 100,
    rerankers: Mapping[str, Path] | None = None,
    prefetcher: str = "first",
    trained: Sequence[Path] = (),
    baselines: Sequence[str] = (),
    cache: Path = Path("cocite-baselines"),
    settings: BaselineSettings | None = None,
    saved: Path | None = None,
    bars: ProgressBars = no_bars,
) -> Report:
    """Measure a model folder as the two papers measure their systems.

    Args:
        corpus: papers, links and contexts.
        model: model folder; systems whose parts it lacks have no row.
        only: some of :data:`TABLES`; by default all that the model folder has the parts for.
        task: ``local`` or ``global``.
        split: the queries are of its papers.
        sample: number of queries; all by default.
        seed: of the query sample.
        min_citations: the queries of the global task cite at least so many papers of the corpus; None: one.
        depths: numbers of reranked candidates.
        oracle_depth: candidates of the reranking table (the paper's are 2,000).
        rerankers: of :data:`RERANKED`, the model folder whose cross-encoder reranks its candidates in the pipeline
            table, as it was trained on them (the paper has one for each); ``model`` where there is none.
        prefetcher: the system whose candidates the table of budgets reranks; the paper's is ``bm25``.
        trained: model folders whose cross-encoders were each trained for another split of the tokens; the table of
            budgets has them beside ``model``'s.
        baselines: of :data:`~cocite.systems.baselines.train.NAMES`, rows of the prefetching table, and of its
            ``RERANKERS``, rows of the reranking table; the paper's are ``s2v``, and ``ncn``, ``dualcon``,
            ``dualenh`` and ``bertgcn``. They are trained on the training period's texts, unless ``cache`` has them.
        cache: folder of trained baselines.
        settings: of their training.
        saved: an index folder of the corpus, whose vectors are reused.
        bars: of each step.

    Raises:
        InputError: there is no such table, a depth is too small, or the folder lacks the cross-encoder of a table.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> reranking_tables(starter_corpus(), Path("model"), only=["prefetchin"])
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: --only: there is no table 'prefetchin' here (did you mean 'prefetching'?)
    """
    for name in only or ():
        if name not in TABLES:
            raise InputError(f"there is no table {name!r} here", where="--only", hint=nearest(name, TABLES))
    if min(depths, default=0) < 1:
        raise InputError(f"{min(depths, default=0)}: candidates are counted from 1", where="--depths")
    if oracle_depth < 2:
        raise InputError(f"{oracle_depth} candidates are too few: an oracle needs 2", where="--oracle-depth")
    for name in rerankers or {}:
        if name not in RERANKED:
            raise InputError(
                f"no candidates of {name!r} are reranked", where="--reranker", hint=nearest(name, RERANKED)
            )
    for name in baselines:
        if name not in (known := {**NAMES, **BASELINE_RERANKERS}):
            raise InputError(
                f"no baseline is called {name!r}", where="--baselines", hint=nearest(name, known)
            )
    for folder in (*(rerankers or {}).values(), *trained):
        if "cross-encoder" not in components.list_components(folder):
            raise InputError("holds no cross-encoder", where=str(folder))
    has_cross_encoder = "cross-encoder" in components.list_components(model)
    retrieving = [name for name in baselines if name in NAMES]
    reranking = [name for name in baselines if name in BASELINE_RERANKERS]
    # Baselines that rerank are measured without a cross-encoder too.
    without = ("prefetching", "forms", *(["reranking"] if reranking else []))
    wanted = list(only or (TABLES if has_cross_encoder else without))
    if not has_cross_encoder and set(wanted) - set(without):
        raise InputError(
            "holds no cross-encoder, which this table measures",
            where=str(model),
            hint="train one into it: cocite train cross-encoder-small …",
        )
    queries = tasks.build(corpus, task, split, sample=sample, seed=seed, min_citations=min_citations)
    made = _Tables(corpus, model, queries, split, saved, bars, rerankers or {})
    if min_citations is not None:
        made.facts["min_citations"] = min_citations
    trainer = TrainedBaselines(tasks.history_before(corpus, "dev"), cache, settings, bar=bars)
    tables: dict[str, Callable[[], Table]] = {
        "prefetching": lambda: made.prefetching([trainer.open(name) for name in retrieving]),
        "reranking": lambda: made.reranking(
            oracle_depth,
            [trainer.open_reranker(name) for name in reranking],
            has_cross_encoder=has_cross_encoder,
        ),
        "pipeline": lambda: made.pipeline(sorted(set(depths))),
        "time": lambda: made.time(sorted(set(depths))),
        "forms": made.forms,
        "budgets": lambda: made.budgets(min(depths), prefetcher, trained),
        "bm25": lambda: made.bm25(max(depths)),
    }
    return Report("Prefetching and reranking", dict(made.facts), [tables[name]() for name in wanted])


class _Tables:
    """The tables over one index, one set of queries and one cache of pair scores."""

    def __init__(
        self,
        corpus: Corpus,
        model: Path,
        task: EvalTask,
        split: str,
        saved: Path | None,
        bars: ProgressBars,
        rerankers: Mapping[str, Path],
    ) -> None:
        self.model, self.bars, self.rerankers = model, bars, rerankers
        self.available = systems.available(model)
        self.task = task
        self.metrics = RERANKING[task.name]
        self.facts: dict[str, Any] = {
            "corpus": str(corpus.path),
            "task": task.name,
            "split": split,
            "queries": len(self.task),
            "model": str(model),
        }
        opened = open_index(saved) if saved is not None else None
        with bars("indexing", None) as advance:
            history = tasks.history_before(corpus, split)
            encoders = components.load_encoders(model)
            self.index = index_of(corpus, history, encoders, saved=opened, advance=advance)

    # -- retrieval -------------------------------------------------------------------------------------------

    def prefetching(self, baselines: Sequence[VectorBaseline]) -> Table:
        """HAtten, Table 2: MRR, recall at growing depths, and the time of a query."""
        ranks: dict[str, Rank] = {}
        if self.task.name == "local":
            ranks["bm25 (context)"] = Bm25Baseline(self.index, QueryForm.CONTEXT).search
        for name in PREFETCHERS:
            if name in self.available:
                ranks[name] = self._system(name)
        ranks |= {baseline.name: baseline.search for baseline in baselines}
        measured, times = {}, []
        for name, rank in ranks.items():
            result = self._run(name, rank)
            measured[name] = measure(result.hits, PREFETCHING)
            times.append(result.milliseconds)
        note = "Time: a query's share of its batch, encoding included."
        return marked_table("prefetching", measured, "bm25", more={"ms per query": times}, note=note)

    def forms(self) -> Table:
        """Nogueira et al., Table 4: BM25 of each form of the query."""
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
    def cross_encoder(self) -> CachedReranker:
        """The cross-encoder of the model folder; a pair that several tables rerank is scored once."""
        return self._cross_encoder(self.model)

    def _cross_encoder(self, folder: Path) -> CachedReranker:
        reranker = components.load_cross_encoder(folder, self.index)
        assert reranker is not None  # checked before any table is made
        return CachedReranker(reranker)

    def reranking(self, depth: int, baselines: Sequence[Reranker], *, has_cross_encoder: bool) -> Table:
        """HAtten, Table 3: BM25's candidates with every cited paper among them, by BM25 and by each reranker."""
        candidates = self._ranked("bm25", self._system("bm25"), depth)
        oracle = add_relevant(candidates, self.task.relevant)
        measured = {"bm25": self._measured(oracle)}
        for reranker in (*baselines, *([self.cross_encoder] if has_cross_encoder else [])):
            scores = self._scores(oracle, reranker, f"oracle candidates, {reranker.name}")
            measured[reranker.name] = self._measured(rerank_head(oracle, scores, oracle.depth))
        note = f"{oracle.depth} candidates; a cited paper that BM25 missed stands in place of the last ones."
        return marked_table("reranking, oracle BM25", measured, "bm25", note=note)

    def pipeline(self, depths: Sequence[int]) -> Table:
        """HAtten, Table 4: one row a pipeline, one column a number of reranked candidates."""
        rows: dict[str, list[Measurement]] = {}
        for name in RERANKED:
            if name not in self.available:
                continue
            own = self.rerankers.get(name)
            reranker = self.cross_encoder if own is None else self._cross_encoder(own)
            ranking = self._ranked(name, self._system(name), max(depths[-1], 20))
            scores = self._scores(ranking.top(depths[-1]), reranker, f"candidates of {name}")
            rows[name] = [self._measured(ranking)] * len(depths)
            rows[f"{name} + {reranker.name}{'' if own is None else f' of {own}'}"] = [
                self._measured(rerank_head(ranking, scores, depth)) for depth in depths
            ]
        recommender = Recommender.over(self.model, self.index)
        if recommender.second.fusions:
            recommender.second.cross_encoder = self.cross_encoder
            rows["first + fusion"] = [self._measured(self._fused(recommender, 0))] * len(depths)
            rows[f"first + fusion + {self.cross_encoder.name}"] = [
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
        """HAtten, Figure 4: milliseconds of a query by the number of its candidates."""
        queries = self.task.queries[:TIMED]
        source = "first" if "first" in self.available else "bm25"
        candidates = self._system(source)(queries, depths[-1])
        reranker = self.cross_encoder.reranker
        reranker.score(queries, candidates)  # papers are tokenized once: that is not a query's time
        rows = []
        for depth in depths:
            seconds = []
            for i, query in enumerate(queries):
                top = Ranking(candidates.rows[i : i + 1, :depth], candidates.scores[i : i + 1, :depth])
                start = time.perf_counter()
                reranker.score([query], top)
                seconds.append(time.perf_counter() - start)
            median = float(np.median(seconds))
            rows.append([depth, 1000 * median, depth / median])
        note = f"One query at a time, candidates' tokens at hand; median of {len(queries)} queries."
        return Table("reranking time", ["candidates", "ms per query", "pairs/s"], rows, note)

    def bm25(self, depth: int) -> Table:
        """Nogueira et al., Table 2: BM25's thousand candidates, and the cross-encoder's order of the best of them."""
        metrics = (*self.metrics, "R@1000")
        candidates = self._ranked("bm25", self._system("bm25"), 1000)
        scores = self._scores(candidates.top(depth), self.cross_encoder, "candidates of bm25")
        reranked = rerank_head(candidates, scores, depth)
        measured = {
            name: measure(self._hits(ranking), metrics)
            for name, ranking in (("bm25", candidates), (f"bm25 + {self.cross_encoder.name}", reranked))
        }
        return marked_table("BM25 reranked", measured, "bm25", note=f"{depth} candidates are reranked.")

    def budgets(self, depth: int, prefetcher: str, trained: Sequence[Path]) -> Table:
        """Nogueira et al., Figure 1: a retriever's best, reranked with ever more of the tokens for the query."""
        candidates = self._ranked(prefetcher, self._system(prefetcher), max(depth, 20))

        def rerank(model: CrossEncoder, name: str) -> Measurement:
            reranker = CrossEncoderReranker(PairScorer(model), self.task.corpus)
            return self._measured(
                rerank_head(candidates, self._scores(candidates.top(depth), reranker, name), depth)
            )

        return table_of_splits(self.model, trained, rerank, f"{depth} candidates of {prefetcher}")

    # -- queries in blocks -----------------------------------------------------------------------------------

    def _system(self, name: str) -> Rank:
        return systems.open_system(name, self.model, self.index)

    def _run(self, name: str, rank: Rank) -> experiment.EvalResult:
        with self.bars(f"ranking: {name}", len(self.task)) as advance:
            return experiment.run(self.task, rank, k=DEEPEST, batch=BLOCK, advance=advance)

    def _measured(self, ranking: Ranking) -> Measurement:
        return measure(self._hits(ranking), self.metrics)

    def _hits(self, ranking: Ranking) -> Hits:
        return Hits.of(ranking, self.task.relevant, self.task.papers)

    def _blocks(self, name: str, rank: Callable[[Sequence[Query], slice], Any]) -> list[Any]:
        """The results of a function for each block of the task's queries."""
        parts = []
        with self.bars(name, len(self.task)) as advance:
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

    def _scores(self, candidates: Ranking, reranker: Reranker, name: str) -> NDArray[np.float32]:
        """(Q, k) scores of candidates."""

        def score(queries: Sequence[Query], block: slice) -> NDArray[np.float32]:
            return reranker.score(queries, Ranking(candidates.rows[block], candidates.scores[block]))

        return np.concatenate(self._blocks(f"reranking: {name}", score))

    def _fused(self, recommender: Recommender, rerank: int) -> Ranking:
        """The rankings of the whole pipeline when the cross-encoder reads ``rerank`` candidates."""
        name = f"fusion, {rerank} reranked" if rerank else "fusion"
        return self._ranked(name, lambda queries, k: recommender.rank(queries, k, rerank=rerank), 100)
