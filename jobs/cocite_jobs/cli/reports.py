"""Logs and prints the reports of ``cocite evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cocite.cli.console import out, print_json, print_note, print_table, print_warnings
from cocite.cli.locations import shown
from cocite.evaluation.report import Report, format_cell

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus


def open_corpus(path: Path, split: str) -> Corpus:
    """Open a corpus store, and warn where no citation before the split that is judged is known."""
    from cocite.corpus.cold_history import cold_before
    from cocite.corpus.store import Corpus

    corpus = Corpus.open(path)
    print_warnings(cold_before(corpus, split))
    return corpus


def log_report(run: Any, report: Report) -> None:
    """Log the tables' numbers and the report to a run of MLflow; TREC runs are too large, and stay where they are."""
    import tempfile

    from cocite_jobs.evaluation.report_files import write_report

    run.log_metrics(report.metrics())
    with tempfile.TemporaryDirectory() as folder:
        write_report(report, Path(folder))
        run.log_artifact(folder, folder="report")


def print_report(report: Report, as_json: bool, markdown: Path | None, *, brief: bool = False) -> None:
    """Print a report, and write it to a file.

    Args:
        report: what was measured.
        as_json: print JSON in place of tables.
        markdown: the file to write the tables to; None: none.
        brief: print metrics and times alone, no slices.
    """
    from cocite.atomic_files import write_atomic

    if markdown is not None:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(markdown, report.markdown())
        print_note(f"written: {shown(markdown)}")
    if as_json:
        print_json(report.json())
        return
    out.print(
        f"{report.title}: "
        + ", ".join(f"{key.replace('_', ' ')} {format_cell(v)}" for key, v in report.facts.items())
    )
    # Metrics and times come first, then the slices.
    for part in report.tables[:2] if brief else report.tables:
        print_table(part.title, part.columns, [[format_cell(cell) for cell in row] for row in part.rows])
        if part.note:
            out.print(part.note, style="dim")
