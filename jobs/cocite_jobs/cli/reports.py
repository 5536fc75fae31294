"""What the commands of ``cocite evaluate`` share: options, and how a report is kept and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cocite.cli.console import emit, err, out, table, warn
from cocite.evaluation.report import Report, format_cell

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus

CorpusOption = Annotated[Path, typer.Option(help="Corpus store.")]
SplitOption = Annotated[str, typer.Option(help="Whose papers ask: test, dev or train.")]
SampleOption = Annotated[
    int | None, typer.Option(min=1, max=1_000_000_000, help="So many of the queries, drawn by the seed.")
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Draws the sample.")]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        help="Index folder of the corpus that knows all links, or those before the split: its vectors are not made "
        "again."
    ),
]
RunsOption = Annotated[Path | None, typer.Option(help="Folder for TREC runs, qrels and the report.")]
MarkdownOption = Annotated[Path | None, typer.Option(help="File to write the tables to in Markdown.")]
TrackingOption = Annotated[
    Path, typer.Option(help="Folder of MLflow's store, unless MLFLOW_TRACKING_URI is set.")
]
TrackOption = Annotated[bool, typer.Option(help="Whether to keep the result in MLflow.")]


def open_corpus(path: Path, split: str) -> Corpus:
    """The corpus store whose split asks; warns where nothing is known of citations before that split."""
    from cocite.corpus.cold_history import cold_before
    from cocite.corpus.store import Corpus

    corpus = Corpus.open(path)
    warn(cold_before(corpus, split))
    return corpus


def keep(kept: Any, report: Report) -> None:
    """Log the tables' numbers, and keep the report; runs stay where they were written, for they are large."""
    import tempfile

    from cocite_jobs.evaluation.report_files import write_report

    kept.log_metrics(report.metrics())
    with tempfile.TemporaryDirectory() as folder:
        write_report(report, Path(folder))
        kept.log_artifact(folder, folder="report")


def tell(report: Report, json: bool, markdown: Path | None, *, brief: bool = False) -> None:
    """Print a report, as tables or as JSON, and write it in Markdown where that is wanted."""
    from cocite.atomic_files import write_atomic

    if markdown is not None:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(markdown, report.markdown())
        err.print(f"written: {markdown}", highlight=False, soft_wrap=True)
    if json:
        emit(report.json())
        return
    out.print(
        f"{report.title}: "
        + ", ".join(f"{key.replace('_', ' ')} {format_cell(v)}" for key, v in report.facts.items())
    )
    # Metrics and times come first, then the slices.
    for part in report.tables[:2] if brief else report.tables:
        table(part.title, part.columns, [[format_cell(cell) for cell in row] for row in part.rows])
        if part.note:
            out.print(part.note, style="dim")
