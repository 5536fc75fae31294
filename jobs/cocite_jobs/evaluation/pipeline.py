"""Ranks a task's queries with each system of a model folder, and measures the rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cocite.atomic_files import replace_files
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import experiment, tasks
from cocite.evaluation.metrics import GLOBAL, LOCAL, measure
from cocite.evaluation.report import (
    Report,
    Table,
    comparison_table,
    metrics_table,
    self_citation_table,
    slice_tables,
)
from cocite.evaluation.tasks import EvalTask
from cocite.manifests import read_manifest
from cocite.pipeline.options import CandidateScope
from cocite.progress_bars import Advance, ProgressBars, no_bars
from cocite_jobs.evaluation.report_files import write_report
from cocite_jobs.retrieval.opened_index import SearchPlace, opened_index

if TYPE_CHECKING:
    from cocite.corpus.history import History
    from cocite.evaluation.experiment import EvalResult
    from cocite.retrieval.index.search_index import SearchIndex
    from cocite_jobs.steps.run_parts import Workers

    RankWith = Callable[[str, Path | None, Advance], EvalResult]


def evaluate_pipeline(
    corpus: Corpus,
    model: Path | None,
    *,
    task: str = "local",
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    min_citations: int | None = None,
    stages: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    k: int = 2000,
    batch: int = 64,
    rerank: int | None = None,
    candidates: CandidateScope = "all",
    saved: Path | None = None,
    on: Literal["process", "ray"] = "process",
    address: str | None = None,
    workers: Workers | None = None,
    beside: str | None = None,
    to: Path | None = None,
    bars: ProgressBars = no_bars,
) -> Report:
    """Rank a task's queries with each system and report metrics of all, slices of the last, the last against the first.

    Args:
        corpus: papers, links and contexts.
        model: model folder.
        task: ``local`` or ``global``.
        split: the queries are of its papers.
        sample: number of queries; all by default.
        seed: of the query sample.
        min_citations: the queries of the global task cite at least so many papers of the corpus; None: one.
        stages: which of :data:`cocite.evaluation.systems.SYSTEMS`; all that the folder offers by default.
        metrics: names of the metrics; the task's own by default.
        k: depth of the rankings.
        batch: queries ranked at a time.
        rerank: candidates that the cross-encoder reads, where one does; the usual number by default.
        candidates: ``all`` papers, as the tasks' protocol says; ``older``: those of a query's year and earlier. A
            relevant paper that is later stays relevant, and is then never found.
        saved: an index folder of the same corpus, whose vectors and word statistics are reused.
        on: where the shards of that index are searched.
        address: of a running Ray cluster, see :func:`cocite_jobs.cluster.connection.ray_connection`.
        workers: who ranks, in parts of the queries; each opens the saved index by itself. None: this process.
        beside: the folder ``to`` by the path or URI that the workers see, beside which the parts are kept until the
            report is there; by default its path.
        to: folder for ``qrels.trec``, a run for each system, ``report.json`` and ``report.md``.
        bars: of each step.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> report = evaluate_pipeline(starter_corpus(), None, task="global", sample=5, k=20, metrics=["R@10"])
        >>> report.title
        'global task, test split'
        >>> report.tables[0].columns, [row[:2] for row in report.tables[0].rows]
        (['system', 'queries', 'R@10'], [['bm25', 5], ['first', 5]])

    Raises:
        InputError: the task has no query, a system or the index lacks something, or ``workers`` without ``saved`` or
            ``to``.
        CociteError: a part could not be made; those that were made are kept.
    """
    # Not at the top of the module: SciPy, FAISS and the index take long to import.
    from cocite.evaluation import systems
    from cocite.pipeline.components import exclusion_notes

    if workers is not None and (saved is None or to is None):
        raise InputError(
            "the queries are ranked in parts over a saved index, and kept beside the runs",
            where="--workers",
            hint="give --index and --to",
        )
    queries = tasks.build(corpus, task, split, sample=sample, seed=seed, min_citations=min_citations)
    names = systems.select(model, stages, where="--stages")
    history = tasks.history_before(corpus, split)
    how: dict[str, Any] = {"k": k, "batch": batch, "rerank": rerank, "candidates": candidates}
    with ExitStack() as stack:
        if workers is not None and saved is not None and to is not None:
            from cocite_jobs.steps.files import place_of
            from cocite_jobs.steps.ranking.rank_task import ChosenTask, ranking_in_parts

            chosen = ChosenTask(
                place_of(corpus.path), corpus.version, task, split, sample, seed, min_citations
            )
            over = chosen, len(queries), saved, model, tuple(names)
            rank_with: RankWith = stack.enter_context(
                ranking_in_parts(*over, beside=beside or to, workers=workers, **how)
            )
        else:
            encoders = systems.encoders_for(model, names)
            place, bar = SearchPlace(on, address), partial(bars, "indexing", None)
            index = stack.enter_context(opened_index(corpus, history, encoders, saved, place, bar))
            rank_with = partial(_rank_here, queries, model, index, how)
        folder = stack.enter_context(replace_files(to))
        if folder is not None:
            experiment.write_task_qrels(queries, folder / "qrels.trec")
        results: dict[str, EvalResult] = {}
        for name in names:
            path = folder / f"{name}.trec" if folder is not None else None
            with bars(f"ranking with {name}", len(queries)) as advance:
                results[name] = rank_with(name, path, advance)
        report = _pipeline_report(
            queries, split, history, results, metrics or (LOCAL if task == "local" else GLOBAL)
        )
        report.facts |= {
            "sample": sample or "all",
            "seed": seed,
            "depth": k,
            "candidates": candidates,
            "model": _versions(model),
        }
        if min_citations is not None:
            report.facts["min_citations"] = min_citations
        if left_out := exclusion_notes(model):
            report.facts["left_out"] = "; ".join(left_out)
        if folder is not None:
            write_report(report, folder)
    return report


def _rank_here(
    queries: EvalTask,
    model: Path | None,
    index: SearchIndex,
    how: Mapping[str, Any],
    name: str,
    run: Path | None,
    advance: Advance,
) -> EvalResult:
    """Rank all queries with a system in this process."""
    from cocite.evaluation import systems

    rank = systems.open_system(name, model, index, rerank=how["rerank"], candidates=how["candidates"])
    return experiment.run(queries, rank, k=how["k"], batch=how["batch"], to=run, tag=name, advance=advance)


def _pipeline_report(
    task: EvalTask, split: str, history: History, results: Mapping[str, EvalResult], metrics: Sequence[str]
) -> Report:
    measured = {name: measure(result.hits, metrics) for name, result in results.items()}
    *_, last = results
    report = Report(
        f"{task.name} task, {split} split",
        {
            "corpus": str(task.corpus.path),
            "corpus_version": task.corpus.version,
            "task": task.name,
            "split": split,
            "queries": len(task),
            "history_until": str(history.year),
        },
    )
    report.tables.append(metrics_table(measured))
    times = [[name, result.milliseconds, result.empty] for name, result in results.items()]
    report.tables.append(Table("time", ["system", "ms per query", "queries without candidates"], times))
    report.tables += slice_tables(
        results[last].hits,
        years=[query.year for query in task.queries],
        venues=[query.venue for query in task.queries],
        in_citations=history.in_citations,
    )
    report.tables.append(self_citation_table(results[last].self_citation))
    if len(measured) > 1:
        first = next(iter(measured))
        report.tables.append(comparison_table(measured[last], measured[first], (last, first)))
    return report


def _versions(model: Path | None) -> str:
    if model is None:
        return "none"
    parts = [path for path in sorted(model.iterdir()) if (path / "manifest.json").is_file()]
    return ", ".join(f"{path.name} {read_manifest(path).digest}" for path in parts) or str(model)
