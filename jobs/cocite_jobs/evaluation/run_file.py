"""Judges a TREC run file: metrics, slices, self-citation, and a paired test against another run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.metrics import LOCAL, Measurement, measure
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
from cocite.progress_bars import Advance


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
    """Judge a run file, alone and against another.

    Args:
        run: the TREC run.
        qrels: the relevant documents of each query, as a TREC file.
        against: another run of the same queries, for the paired test.
        metrics: names of the metrics.
        task: the task that the run answers; with it come slices by year, venue and in-citations, self-citation, and a
            test over citing papers.
        split: of the task; in-citations are counted among the papers before it.
        confirm: recompute through ir_measures the metrics that it has.
        advance: called with the number of queries that were read.

    Raises:
        InputError: a file has a bad line, or both runs are one file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     qrels, run = Path(folder, "qrels"), Path(folder, "run")
        ...     _ = qrels.write_text("q1 0 a 1\\nq2 0 b 1\\n")
        ...     _ = run.write_text("q1 Q0 a 1 2.0 mine\\nq2 Q0 c 1 2.0 mine\\nq2 Q0 b 2 1.0 mine\\n")
        ...     report = evaluate_run(run, qrels, metrics=("MRR", "R@10"))
        ...     print(report.tables[0].columns, report.tables[0].rows)
        ['system', 'queries', 'MRR', 'R@10'] [['run', 2, 0.75, 1.0]]
    """
    name, other_name = _labels(run, against)
    judgements = read_qrels(qrels)
    relevant = judgements.documents
    if task is None:
        vocabulary, authors, papers = DocumentNumbers(relevant), None, None
    else:
        every = task.corpus.papers.table.column("id").to_pylist()
        vocabulary = DocumentNumbers(list(dict.fromkeys([*every, *relevant])))
        named = {
            query.id: (query.authors, query.paper) for query in task.queries
        }  # each is made when asked for
        authors = AuthorLookup({id: names for id, (names, _) in named.items()}, _authors_of(task.corpus))
        papers = {id: paper for id, (_, paper) in named.items()}
    judged = evaluate_run_file(run, judgements, vocabulary, authors=authors, papers=papers, advance=advance)
    measured = {name: measure(judged.hits, metrics)}
    report = Report(f"Run {name}", _facts_of(run, qrels, judged))
    if against is not None:
        other = evaluate_run_file(against, judgements, vocabulary, papers=papers, advance=advance)
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
    """Names of two runs in the tables: their files' names, with as many parent folders as make them differ."""
    if against is None:
        return run.name, ""
    if run.exists() and against.exists() and run.samefile(against):
        raise InputError("is the run itself", where=f"--against {against}", hint="name another run")
    paths = run.absolute(), against.absolute()
    for count in range(1, max(len(path.parts) for path in paths) + 1):
        name, other_name = ("/".join(path.parts[-count:]) for path in paths)
        if name != other_name:
            break
    return name, other_name


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
    queries = [known.get(id_) for id_ in judged.ids]
    counts = tasks.history_before(task.corpus, split).in_citations
    tables = slice_tables(
        judged.hits,
        years=[query.year if query else None for query in queries],
        venues=[query.venue if query else "" for query in queries],
        # Documents that the corpus lacks stand behind its papers; it knows no citation of them.
        in_citations=np.pad(counts, (0, documents - len(counts))),
    )
    if judged.self_citation is not None:
        tables.append(self_citation_table(judged.self_citation))
    return tables


def _confirmation(run: str, ours: Measurement, theirs: Mapping[str, float]) -> Table:
    """Our means beside those of ir_measures."""
    rows = [[name, ours.means[name], value, abs(ours.means[name] - value)] for name, value in theirs.items()]
    return Table("confirmation", ["metric", "cocite", "ir_measures", "difference"], rows, f"Both read {run}.")


def _authors_of(corpus: Corpus) -> Callable[[Any], Sequence[Sequence[str]]]:
    """A function from rows of documents to their authors; documents beyond the corpus have none."""

    def authors(rows: Any) -> Sequence[Sequence[str]]:
        inside = rows[rows < len(corpus)]
        # Documents beyond the corpus stand behind all its papers, so they come last here too.
        return [*corpus.papers.take("authors", inside), *([()] * (len(rows) - len(inside)))]

    return authors
