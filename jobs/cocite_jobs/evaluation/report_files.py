"""Writes a report as the files that people and programs read."""

from __future__ import annotations

import json
from pathlib import Path

from cocite.atomic_files import write_atomic
from cocite.evaluation.report import Report


def write_report(report: Report, folder: Path) -> None:
    """Write ``report.json`` and ``report.md`` into a folder, which is made when there is none.

    Example:
        >>> import tempfile
        >>> from cocite.evaluation.report import Table
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = Table("metrics", ["system", "MRR"], [["bm25", 0.25]])
        ...     write_report(Report("Local task", {"queries": 100}, [table]), Path(folder))
        ...     print(Path(folder, "report.md").read_text().splitlines()[-1])
        | bm25 | 0.250 |
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "report.json", json.dumps(report.json(), indent=1, ensure_ascii=False) + "\n")
    write_atomic(folder / "report.md", report.markdown())
