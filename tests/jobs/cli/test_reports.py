from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.errors import InputError
from cocite.evaluation.report import Report, Table
from cocite_jobs.cli.reports import log_report, open_corpus, print_report

REPORT = Report(
    "test of a thing",
    {"queries": 3, "split": "test"},
    [
        Table("metrics", ["system", "MRR"], [["bm25", 0.25], ["full", 0.5]]),
        Table("times", ["system", "ms"], [["bm25", 1.0]]),
        Table("by year", ["year", "MRR"], [["2018", 0.5]], note="A note [CIT]."),
    ],
)


class Run:
    """A run of MLflow that keeps what it is given."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.files: dict[str, list[str]] = {}

    def log_metrics(self, metrics: dict[str, float]) -> None:
        self.metrics |= metrics

    def log_artifact(self, path: str, folder: str) -> None:
        self.files[folder] = sorted(file.name for file in Path(path).iterdir())


def test_a_report_is_printed_as_tables_or_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(REPORT, as_json=False, markdown=None)
    out = capsys.readouterr().out
    assert "test of a thing: queries 3, split test" in out
    for text in ("metrics", "0.500", "times", "by year", "A note [CIT]."):
        assert text in out
    print_report(REPORT, as_json=True, markdown=None)
    assert json.loads(capsys.readouterr().out) == REPORT.json()


def test_a_brief_report_has_no_slices(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(REPORT, as_json=False, markdown=None, brief=True)
    out = capsys.readouterr().out
    assert "times" in out
    assert "by year" not in out


def test_the_markdown_is_written_beside_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / "report.md"
    print_report(REPORT, as_json=True, markdown=path)
    assert path.read_text() == REPORT.markdown()
    out, err = capsys.readouterr()
    assert err == f"written: {path}\n"
    assert json.loads(out)["queries"] == 3


def test_numbers_and_report_are_logged() -> None:
    run = Run()
    log_report(run, REPORT)
    assert run.metrics == REPORT.metrics()
    assert len(run.metrics) == 4
    assert list(run.files) == ["report"]
    assert any(name.endswith(".json") for name in run.files["report"])


def test_a_split_without_citations_before_it_is_a_warning(
    synthetic: SyntheticCorpora, capsys: pytest.CaptureFixture[str]
) -> None:
    known = synthetic(300, seed=5, split=(3, 1))
    assert open_corpus(known.path, "test").version == known.version
    assert capsys.readouterr().err == ""
    cold = synthetic(60, seed=1, split=(60, 60))  # no paper is old enough for train or dev
    open_corpus(cold.path, "test")
    assert "cocite: warning: " in capsys.readouterr().err
    with pytest.raises(InputError, match="no paper belongs to the dev split"):
        open_corpus(cold.path, "dev")
