"""Writes the report of a sweep: as one HTML page, and as the files of its MLflow run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from cocite.atomic_files import write_atomic
from cocite_jobs.html_pages import render_page
from cocite_tuning.report.contents import LISTED, SweepReport
from cocite_tuning.report.figures import DRAWN
from cocite_tuning.report.formatting import format_metric
from cocite_tuning.report.importance import LEAST, TRUSTED
from cocite_tuning.report.parallel_plot import AXES
from cocite_tuning.sweep.result import RESULT_FILE, SweepResult, usage_heading
from cocite_tuning.sweep.trials import TRIALS_FILE, Trials

REPORT_FILE = "report.html"
"""Name of the page within a sweep's folder."""


def render_html(report: SweepReport) -> str:
    """Render a report as a self-contained HTML page, which opens without a network."""
    return render_page(
        "cocite_tuning.report",
        report.figures,
        report=report,
        name=report.trials.sweep,
        drawn=min(len(report.view.compared), DRAWN),
        axes=min(len(report.view.columns), AXES),
        least=LEAST,
        trusted=TRUSTED,
        listed=LISTED,
        format_metric=format_metric,
        usage_heading=usage_heading(not report.default_stays),
    )


def write_report(
    trials: Trials,
    path: str | Path,
    *,
    result: SweepResult | None = None,
    max_latency_ms: float | None = None,
) -> Path:
    """Write the report of a sweep as one HTML page.

    Args:
        trials: of the sweep.
        path: the file.
        result: of the sweep, if it has ended.
        max_latency_ms: a budget for the best trial.

    Returns:
        The file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, render_html(SweepReport(trials, result=result, max_latency_ms=max_latency_ms)))
    return path


def write_artifacts(
    trials: Trials,
    folder: str | Path,
    *,
    result: SweepResult | None = None,
    max_latency_ms: float | None = None,
) -> list[Path]:
    """Write the files that a sweep's MLflow run keeps: the page, each figure, the importances and the trials.

    Returns:
        The files: ``report.html``, ``trials.json``, ``NAME.svg`` for each figure, ``importance.json`` where importances
        are known, and ``best.json`` where the sweep has ended.
    """
    folder = Path(folder)
    report = SweepReport(trials, result=result, max_latency_ms=max_latency_ms)
    folder.mkdir(parents=True, exist_ok=True)
    files = {"report.html": render_html(report)} | {
        f"{name}.svg": svg for name, svg in report.figures.items()
    }
    if report.importance is not None:
        files["importance.json"] = json.dumps(asdict(report.importance), indent=1) + "\n"
    if result is not None:
        files[RESULT_FILE] = result.to_json()
    for name, text in files.items():
        write_atomic(folder / name, text)
    trials.write(folder / TRIALS_FILE)
    return [*(folder / name for name in files), folder / TRIALS_FILE]
