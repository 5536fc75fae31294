from __future__ import annotations

import json
import math
from pathlib import Path

from cocite.evaluation.report import Report, Table
from cocite_jobs.evaluation.report_files import write_report


def test_both_files_hold_the_report_and_replace_an_earlier_one(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for value in (0.25, 0.5):
        table = Table("metrics", ["system", "MRR", "p"], [["bm25 é", value, math.nan]])
        report = Report("Local task", {"queries": 2}, [table])
        write_report(report, folder)
    assert {path.name for path in folder.iterdir()} == {"report.json", "report.md"}
    text = (folder / "report.json").read_text(encoding="utf-8")
    assert json.loads(text) == report.json()
    assert "bm25 é" in text
    assert json.loads(text)["tables"]["metrics"][0]["p"] is None, "JSON has no NaN"
    assert (folder / "report.md").read_text(encoding="utf-8") == report.markdown()
