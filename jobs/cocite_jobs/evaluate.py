"""Measure runs and pipelines on a corpus, and keep what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cocite.atomic_files import replace_files, write_atomic
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import experiment, tasks
from cocite.evaluation.metrics import GLOBAL, LOCAL, Measurement, measure
from cocite.evaluation.report import (
    Report,
    Table,
    comparison_table,
    metrics_table,
    self_citation_table,
    slice_tables,
)
from cocite.evaluation.run_files import AuthorLookup, RunFileResult, evaluate_run_file, reference_means
from cocite.evaluation.tasks import EvalTask
from cocite.evaluation.trec import DocumentNumbers, read_qrels
from cocite.manifests import read_manifest
from cocite.pipeline.options import CandidateScope

if TYPE_CHECKING:
    from cocite.evaluation.experiment import EvalResult
    from cocite.retrieval.index.index import Index

Advance = Callable[[int], object]


# -- a run file ----------------------------------------------------------------------------------------------


def evaluate_run(
    run: Path,
    qrels: Path,
    *,
    against: Path | None = None,
    metrics: Sequence[str] = LOCAL,
    task: EvalTask | None = None,
    split: str = "test",
    confirm: bool = False,
    advance: Advance = lambda _: None,
) -> Report:
    """Judge a run file, by itself and against another.

    Args:
        run: the TREC run.
        qrels: what is relevant.
        against: another run of the same queries, for the paired test.
        metrics: what is computed.
        task: the task that the run answers; with it come slices by year, venue and in-citations, and self-citation.
        split: of the task: what came before it is what in-citations are counted in.
        confirm: recompute through ir_measures what it has.
        advance: told how many queries were read.
    """
    name, other_name = _labels(run, against)
    judgements = read_qrels(qrels)
    relevant = judgements.documents
    if task is None:
        vocabulary, authors = DocumentNumbers(relevant), None
    else:
        every = task.corpus.papers.table.column("id").to_pylist()
        vocabulary = DocumentNumbers(list(dict.fromkeys([*every, *relevant])))
        authors = AuthorLookup({query.id: query.authors for query in task.queries}, _authors_of(task.corpus))
    judged = evaluate_run_file(run, judgements, vocabulary, authors=authors, advance=advance)
    measured = {name: measure(judged.hits, metrics)}
    report = Report(f"Run {name}", _facts_of(run, qrels, judged))
    if against is not None:
        other = evaluate_run_file(against, judgements, vocabulary, advance=advance)
        measured[other_name] = measure(other.hits, metrics)
        report.facts["missing_queries_of_the_other"] = other.missing
    report.tables.append(metrics_table(measured))
    if confirm:
        report.tables.append(_confirmation(name, measured[name], reference_means(run, judgements, metrics)))
    report.tables += _slices_of(judged, task, split, len(vocabulary.ids))
    if against is not None:
        report.tables.append(comparison_table(measured[name], measured[other_name], (name, other_name)))
    return report


def _labels(run: Path, against: Path | None) -> tuple[str, str]:
    """What the tables call two runs: their files' names, with as many folders before them as tell them apart."""
    if against is None:
        return run.name, ""
    if run.exists() and against.exists() and run.samefile(against):
        raise InputError("is the run itself", where=f"--against {against}", hint="name another run")
    paths = run.absolute(), against.absolute()
    for count in range(1, max(len(path.parts) for path in paths) + 1):
        one, other = ("/".join(path.parts[-count:]) for path in paths)
        if one != other:
            break
    return one, other


def _facts_of(run: Path, qrels: Path, judged: RunFileResult) -> dict[str, Any]:
    return {
        "run": str(run),
        "qrels": str(qrels),
        "queries": len(judged.ids),
        "depth": judged.hits.depth,
        "missing_queries": judged.missing,
        "queries_without_judgements": judged.unjudged,
    }


def _slices_of(judged: RunFileResult, task: EvalTask | None, split: str, documents: int) -> list[Table]:
    if task is None:
        return slice_tables(judged.hits)
    import numpy as np

    known = {query.id: query for query in task.queries}
    found = [known.get(id_) for id_ in judged.ids]
    counts = tasks.history_before(task.corpus, split).in_citations
    tables = slice_tables(
        judged.hits,
        years=[query.year if query else None for query in found],
        venues=[query.venue if query else "" for query in found],
        in_citations=np.pad(counts, (0, documents - len(counts))),
    )
    if judged.self_citation is not None:
        tables.append(self_citation_table(judged.self_citation))
    return tables


def _confirmation(run: str, ours: Measurement, theirs: Mapping[str, float]) -> Table:
    rows = [[name, ours.means[name], value, abs(ours.means[name] - value)] for name, value in theirs.items()]
    return Table("confirmation", ["metric", "cocite", "ir_measures", "difference"], rows, f"Both read {run}.")


def _authors_of(corpus: Corpus) -> Callable[[Any], Sequence[Sequence[str]]]:
    def of(rows: Any) -> Sequence[Sequence[str]]:
        inside = rows[rows < len(corpus)]
        # Documents beyond the corpus stand behind all its papers, so they come last here too.
        return [*corpus.papers.take("authors", inside), *([()] * (len(rows) - len(inside)))]

    return of


# -- a pipeline ----------------------------------------------------------------------------------------------


def evaluate_pipeline(
    corpus: Corpus,
    model: Path | None,
    *,
    task: str = "local",
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    stages: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    k: int = 2000,
    batch: int = 64,
    rerank: int | None = None,
    candidates: CandidateScope = "all",
    saved: Path | None = None,
    to: Path | None = None,
    bar: Callable[[str, int | None], Any] | None = None,
) -> Report:
    """Rank a task's queries with each system, and report: metrics of all, slices of the last, last against first.

    Args:
        corpus: papers, links and contexts.
        model: model folder.
        task: ``local`` or ``global``.
        split: whose papers ask.
        sample: so many of the queries.
        seed: draws the sample.
        stages: which of :data:`cocite.evaluation.systems.SYSTEMS`; all that the folder offers by default.
        metrics: what is computed; the task's own by default.
        k: depth of the rankings.
        batch: queries ranked at a time.
        rerank: candidates that the cross-encoder reads, where one does; the usual number by default.
        candidates: ``all`` papers, as the tasks' protocol says; ``older``: those of a query's year and earlier. A
            relevant paper that is later stays relevant, and is then never found.
        saved: an index folder of the same corpus, whose vectors and word statistics are taken.
        to: folder for ``qrels.trec``, a run for each system, ``report.json`` and ``report.md``.
        bar: makes a progress bar from a description and a total: a context manager that yields ``advance(n)``.
    """
    from contextlib import nullcontext

    progress = bar or (lambda *_: nullcontext(lambda _=1: None))
    # Not at the top: who judges a run file needs no index, and so neither SciPy nor FAISS.
    from cocite.evaluation import systems
    from cocite.pipeline.components import left_out_notes
    from cocite.retrieval.index.reuse import index_of
    from cocite.retrieval.index.snapshot import IndexSnapshot

    queries = tasks.build(corpus, task, split, sample=sample, seed=seed)
    names = systems.select(model, stages, where="--stages")
    encoders = systems.encoders_for(model, names)
    opened = IndexSnapshot.open(saved) if saved is not None else None
    with progress("indexing", None) as advance:
        history = tasks.history_before(corpus, split)
        index = index_of(corpus, history, encoders, saved=opened, advance=advance)
    with replace_files(to) as folder:
        if folder is not None:
            experiment.write_task_qrels(queries, folder / "qrels.trec")
        outcomes: dict[str, EvalResult] = {}
        for name in names:
            rank = systems.open_system(name, model, index, rerank=rerank, candidates=candidates)
            path = folder / f"{name}.trec" if folder is not None else None
            with progress(f"ranking with {name}", len(queries)) as advance:
                outcomes[name] = experiment.run(
                    queries, rank, k=k, batch=batch, to=path, tag=name, advance=advance
                )
        report = _pipeline_report(
            queries, split, index, outcomes, metrics or (LOCAL if task == "local" else GLOBAL)
        )
        report.facts |= {
            "sample": sample or "all",
            "seed": seed,
            "depth": k,
            "candidates": candidates,
            "model": _versions(model),
        }
        if left_out := left_out_notes(model):
            report.facts["left_out"] = "; ".join(left_out)
        if folder is not None:
            save(report, folder)
    return report


def _pipeline_report(
    task: EvalTask, split: str, index: Index, outcomes: Mapping[str, EvalResult], metrics: Sequence[str]
) -> Report:
    measured = {name: measure(outcome.hits, metrics) for name, outcome in outcomes.items()}
    *_, last = outcomes
    history = index.history
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
    times = [[name, outcome.milliseconds, outcome.empty] for name, outcome in outcomes.items()]
    report.tables.append(Table("time", ["system", "ms per query", "queries without candidates"], times))
    report.tables += slice_tables(
        outcomes[last].hits,
        years=[query.year for query in task.queries],
        venues=[query.venue for query in task.queries],
        in_citations=history.in_citations,
    )
    report.tables.append(self_citation_table(outcomes[last].self_citation))
    if len(measured) > 1 and len(task) > 1:
        first = next(iter(measured))
        report.tables.append(comparison_table(measured[last], measured[first], (last, first)))
    return report


def save(report: Report, folder: Path) -> None:
    """Write a report as JSON and Markdown."""
    import json

    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "report.json", json.dumps(report.json(), indent=1, ensure_ascii=False) + "\n")
    write_atomic(folder / "report.md", report.markdown())


def _versions(model: Path | None) -> str:
    if model is None:
        return "none"
    parts = [path for path in sorted(model.iterdir()) if (path / "manifest.json").is_file()]
    return ", ".join(f"{path.name} {read_manifest(path).digest}" for path in parts) or str(model)
