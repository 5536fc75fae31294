from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite_jobs.evaluation.pipeline import evaluate_pipeline
from cocite_jobs.evaluation.run_file import evaluate_run


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=2, split=(2, 1))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A run of three queries, one of them without judgements, and qrels of three, one of them not ranked."""
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    ranked = {"q1": ["a", "b"], "q2": ["c", "a"], "q4": ["a"]}
    lines = [
        f"{query} Q0 {paper} {rank} {-rank} mine"
        for query, papers in ranked.items()
        for rank, paper in enumerate(papers, 1)
    ]
    run.write_text("\n".join(lines) + "\n")
    qrels.write_text("q1 0 a 1\nq1 0 z 1\nq2 0 a 1\nq3 0 b 1\n")
    return run, qrels


def rows(report: Any, table: str) -> dict[str, Any]:
    """The records of a table by their first cell."""
    return {record[next(iter(record))]: record for record in report["tables"][table]}


def test_queries_that_were_not_ranked_count_and_those_without_judgements_do_not(
    files: tuple[Path, Path],
) -> None:
    report = evaluate_run(*files, metrics=("MRR", "R@10"))
    assert report.title == "Run run"
    assert (report.facts["queries"], report.facts["missing_queries"]) == (3, 1)
    assert report.facts["queries_without_judgements"] == 1
    [row] = report.tables[0].rows
    assert row == ["run", 3, pytest.approx((1 + 0.5 + 0) / 3), pytest.approx((0.5 + 1 + 0) / 3)]


def test_another_library_confirms_the_metrics(files: tuple[Path, Path]) -> None:
    report = evaluate_run(*files, metrics=("MRR", "R@10"), confirm=True)
    [table] = [table for table in report.tables if table.title == "confirmation"]
    assert [row[0] for row in table.rows] == ["MRR", "R@10"]
    assert all(row[1] == pytest.approx(row[2]) and row[3] < 1e-6 for row in table.rows)


def test_a_run_is_tested_against_another(files: tuple[Path, Path], tmp_path: Path) -> None:
    run, qrels = files
    better = tmp_path / "better"
    better.write_text("q1 Q0 a 1 2 x\nq1 Q0 z 2 1 x\nq2 Q0 a 1 1 x\nq3 Q0 b 1 1 x\n")
    progress: list[int] = []
    report = evaluate_run(better, qrels, against=run, metrics=("R@10",), advance=progress.append)
    assert [row[:1] + row[2:] for row in report.tables[0].rows] == [
        ["better", 1.0],
        ["run", pytest.approx(0.5)],
    ]
    assert report.facts["missing_queries_of_the_other"] == 1
    assert report.tables[-1].title == "significance"
    assert sum(progress) > 0


def test_two_runs_of_one_name_are_named_with_their_folders(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, k in (("a/x", 20), ("b/x", 5)):
        evaluate_pipeline(corpus, None, stages=["bm25"], k=k, to=tmp_path / folder)
    runs = [tmp_path / folder / "x" / "bm25.trec" for folder in ("a", "b")]
    qrels = ("--qrels", tmp_path / "a/x/qrels.trec")
    code, out, err = call(capsys, "evaluate", "run", runs[0], *qrels, "--against", runs[1], "--json")
    assert code == 0, err
    report = json.loads(out)
    names = ["a/x/bm25.trec", "b/x/bm25.trec"]
    assert list(rows(report, "metrics")) == names
    [first, *_] = report["tables"]["significance"]
    assert list(first)[1:3] == names
    code, _, err = call(capsys, "evaluate", "run", runs[0], *qrels, "--against", runs[0])
    assert (code, "is the run itself" in err) == (2, True)


def test_a_task_adds_slices_and_self_citation(corpus: Corpus, tmp_path: Path) -> None:
    task = tasks.build(corpus, "global", "test")
    written = evaluate_pipeline(corpus, None, task="global", stages=["bm25"], k=20, to=tmp_path / "out")
    run, qrels = tmp_path / "out" / "bm25.trec", tmp_path / "out" / "qrels.trec"
    plain = {table.title for table in evaluate_run(run, qrels).tables}
    report = evaluate_run(run, qrels, task=task)
    added = {table.title for table in report.tables} - plain
    assert {"year", "in-citations", "self-citation"} <= added
    by_title: dict[str, Any] = {table.title: table.records() for table in written.tables}
    for table in report.tables:
        if table.title in added:
            assert table.records() == by_title[table.title], "as the pipeline's own report has it"


def test_runs_of_one_citing_papers_queries_are_reported_without_a_test(
    corpus: Corpus, tmp_path: Path
) -> None:
    task = tasks.build(corpus, "local", "test")
    paper = task.papers[0]
    ids = [query.id for query in task.queries if query.paper == paper]
    assert len(ids) > 1
    runs = tmp_path / "a", tmp_path / "b"
    for run, document in zip(runs, ("x", "y"), strict=True):
        run.write_text("".join(f"{one} Q0 {document} 1 1 mine\n" for one in ids))
    (tmp_path / "qrels").write_text("".join(f"{one} 0 x 1\n" for one in ids))
    report = evaluate_run(runs[0], tmp_path / "qrels", against=runs[1], task=task)
    row = rows(report.json(), "significance")["MRR"]
    assert (row["a"], row["b"], row["p"]) == (1.0, 0.0, "no test: one citing paper")


def test_a_run_is_not_compared_with_itself(files: tuple[Path, Path], tmp_path: Path) -> None:
    run, qrels = files
    (tmp_path / "link").symlink_to(run)
    with pytest.raises(InputError, match="is the run itself .name another run"):
        evaluate_run(run, qrels, against=tmp_path / "link")
