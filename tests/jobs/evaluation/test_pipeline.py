"""``cocite evaluate pipeline`` from end to end, on a small synthetic corpus with models trained for seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.small_citeomatic import train_small_citeomatic
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.records import SPLITS
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation.metrics import Metric
from cocite.evaluation.trec import DocumentNumbers, read_run
from cocite.pipeline.components import load_encoders
from cocite.protocols import NO_ROW
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_jobs.evaluation.pipeline import evaluate_pipeline


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=2, split=(2, 1))


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_small_citeomatic(corpus, tmp_path_factory.mktemp("m") / "model")


def rows(report: Any, table: str) -> dict[str, Any]:
    """The records of a table by their first cell."""
    return {record[next(iter(record))]: record for record in report["tables"][table]}


def test_global_queries_may_be_those_with_so_many_citations(
    corpus: Corpus, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    degrees = corpus.cites.degrees[corpus.split == SPLITS.index("test")]
    common = ["--corpus", corpus.path, "--min-citations", 4, "--no-track", "--json"]
    lines = {
        "pipeline": ["--task", "global", "--stages", "bm25", "--k", 50],
        "reranking": ["--task", "global", "--only", "forms", "--model", model],
        "tables": ["--only", "4", "--model", model],
    }
    for command, own in lines.items():
        code, out, err = call(capsys, "evaluate", command, *common, *own)
        assert code == 0, err
        facts = json.loads(out)
        assert (facts["queries"], facts["min_citations"]) == ((degrees >= 4).sum(), 4), command
    code, _, err = call(capsys, "evaluate", "pipeline", *common, "--task", "local")
    assert code != 0
    assert "--min-citations: the queries of the local task are contexts" in err


def test_a_pipeline_is_measured_written_and_judged_alike(
    corpus: Corpus, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = [
        "--corpus",
        corpus.path,
        "--model",
        model,
        "--task",
        "global",
        "--to",
        tmp_path / "out",
        "--k",
        100,
    ]
    code, out, err = call(
        capsys, "evaluate", "pipeline", *args, "--no-track", "--json", "--markdown", tmp_path / "t.md"
    )
    assert code == 0, err
    report = json.loads(out)
    measured = rows(report, "metrics")
    assert list(measured) == ["bm25", "nnselect", "nnrank", "first-without-neural", "first", "full"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *(f"{name}.trec" for name in measured),
        "qrels.trec",
        "report.json",
        "report.md",
    }
    assert json.loads((tmp_path / "out/report.json").read_text()) == report
    assert "| bm25 |" in (tmp_path / "t.md").read_text()
    runs = [tmp_path / "out" / f"{name}.trec" for name in ("full", "bm25")]
    args = ["--qrels", tmp_path / "out/qrels.trec", "--against", runs[1], "--metrics", "MRR,P@10,F1@20,R@100"]
    code, out, err = call(
        capsys,
        "evaluate",
        "run",
        runs[0],
        *args,
        "--corpus",
        corpus.path,
        "--task",
        "global",
        "--confirm",
        "--json",
    )
    assert code == 0, err
    judged = json.loads(out)
    for name in ("full", "bm25"):
        for metric in ("MRR", "P@10", "F1@20", "R@100"):
            assert rows(judged, "metrics")[f"{name}.trec"][metric] == pytest.approx(measured[name][metric])
    assert all(row["difference"] < 1e-6 for row in judged["tables"]["confirmation"])
    for part in ("positives", "year", "in-citations", "self-citation"):
        for record in report["tables"][part]:
            other = rows(judged, part)[next(iter(record.values()))]
            assert other == pytest.approx(record, nan_ok=True)


def test_the_terminal_gets_tables_and_mlflow_the_numbers(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    args = ["--corpus", corpus.path, "--sample", 20, "--stages", "bm25", "--metrics", "mrr,r@10", "--k", 50]
    code, out, err = call(capsys, "evaluate", "pipeline", *args, "--tracking", tmp_path)
    assert code == 0, err
    assert "MRR" in out
    assert "self-citation" in out
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    [run] = client.search_runs([client.get_experiment_by_name("evaluate").experiment_id])
    assert run.data.params["task"] == "local"
    assert run.data.tags["corpus"] == corpus.version
    assert 0 <= run.data.metrics["metrics/bm25/MRR"] <= 1
    assert {file.path for file in client.list_artifacts(run.info.run_id, "report")} == {
        "report/report.json",
        "report/report.md",
    }


def test_metrics_and_stages_are_checked_before_any_work(
    corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    for args, message in (
        (["--stages", "bm26"], "did you mean 'bm25'"),
        (["--stages", "nnrank"], "needs a model folder"),
        (["--metrics", "recall@10"], "no metric is called"),
        (["--task", "globl"], "did you mean 'global'"),
    ):
        code, _, err = call(capsys, "evaluate", "pipeline", "--corpus", corpus.path, "--no-track", *args)
        assert code == 2
        assert message in err


def test_a_model_is_measured_with_what_came_before_the_split_only(
    corpus: Corpus, model: Path, tmp_path: Path
) -> None:
    report = evaluate_pipeline(corpus, model, task="global", split="dev", stages=["first"], k=50)
    assert report.facts["history_until"] == str(int(corpus.years[corpus.split == 2].min()) - 1)
    assert [str(Metric.parse(name)) for name in report.tables[0].columns[2:]] == report.tables[0].columns[2:]
    IndexSnapshot.create(corpus, tmp_path / "index", encoders=load_encoders(model))
    again = evaluate_pipeline(
        corpus, model, task="global", split="dev", stages=["first"], k=50, saved=tmp_path / "index"
    )
    assert again.tables[0].rows == report.tables[0].rows


def test_candidates_are_all_papers_unless_older_ones_are_asked_for(corpus: Corpus, tmp_path: Path) -> None:
    def measured(**options):
        to = tmp_path / "-".join(options) / "runs"
        report = evaluate_pipeline(
            corpus, None, task="global", split="dev", stages=["bm25"], k=400, to=to, **options
        )
        ids = DocumentNumbers(corpus.ids(range(len(corpus))))
        [(names, ranking)] = read_run(to / "bm25.trec", ids.rows)
        own = corpus.years[corpus.find(names)]
        later = (ranking.rows != NO_ROW) & (corpus.years[ranking.rows] > own[:, None])
        return report.facts["candidates"], int(later.sum())

    scope, later = measured()
    assert scope == "all"
    assert later > 0
    assert measured(candidates="older") == ("older", 0)


def test_an_evaluation_that_fails_leaves_the_folder_as_it_was(corpus: Corpus, tmp_path: Path) -> None:
    evaluate_pipeline(corpus, None, stages=["bm25"], k=5, to=tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(InputError, match="no metric is called"):
        evaluate_pipeline(corpus, None, stages=["first"], metrics=["foo@3"], k=9, to=tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_each_step_is_a_bar_that_ends_at_its_total(synthetic: SyntheticCorpora) -> None:
    steps: dict[str, tuple[int | None, int]] = {}

    class Bar:
        def __init__(self, description: str, total: int | None) -> None:
            self.description, self.total, self.done = description, total, 0

        def __enter__(self) -> Any:
            def advance(count: int) -> None:
                self.done += count

            return advance

        def __exit__(self, *_: object) -> None:
            steps[self.description] = (self.total, self.done)

    corpus = synthetic(400, seed=2, split=(2, 1))
    evaluate_pipeline(corpus, None, stages=["bm25", "first"], sample=10, k=5, batch=4, bars=Bar)
    assert list(steps) == ["indexing", "ranking with bm25", "ranking with first"]
    assert steps["ranking with bm25"] == steps["ranking with first"] == (10, 10)
