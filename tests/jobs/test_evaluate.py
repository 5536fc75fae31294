"""``cocite evaluate`` from end to end, on a small synthetic corpus; the tables with models trained for seconds."""

from __future__ import annotations

import json

import pytest
from helpers.command_line import call

from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import InputError
from cocite.evaluation.metrics import Metric
from cocite.evaluation.trec import DocumentNumbers, read_run
from cocite.pipeline.components import load_encoders
from cocite.protocols import NO_ROW
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.citeomatic.nnrank_task import NNRankRecipe
from cocite.systems.citeomatic.nnselect_task import NNSelectRecipe
from cocite_jobs.evaluate import evaluate_pipeline
from cocite_jobs.tables import citeomatic as tables
from cocite_jobs.training.train import train


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    synthetic = Synthetic(400, seed=2)
    last = int(synthetic.year([399])[0])
    return build(synthetic, tmp_path_factory.mktemp("c") / "store", split=by_year_name(last - 2, last - 1))


@pytest.fixture(scope="module")
def model(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("m") / "model"
    loop = {"epochs": 1}
    train(NNSelectRecipe.parse({"model": {"dimension": 8}, "loop": loop}), corpus, folder)
    small = {"model": {"dimension": 8, "metadata_dimension": 4, "hidden": [4, 4]}, "loop": loop}
    small |= {"candidates": {"neighbours": 10}, "keep": "always"}
    train(NNRankRecipe.parse(small), corpus, folder)
    return folder


def rows(report, table):
    return {record[next(iter(record))]: record for record in report["tables"][table]}


def test_a_pipeline_is_measured_written_and_judged_alike(corpus, model, tmp_path, capsys):
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


def test_the_terminal_gets_tables_and_mlflow_the_numbers(corpus, tmp_path, capsys, monkeypatch):
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


def test_metrics_and_stages_are_checked_before_any_work(corpus, capsys):
    for args, message in (
        (["--stages", "bm26"], "did you mean 'bm25'"),
        (["--stages", "nnrank"], "needs a model folder"),
        (["--metrics", "recall@10"], "no metric is called"),
        (["--task", "globl"], "did you mean 'global'"),
    ):
        code, _, err = call(capsys, "evaluate", "pipeline", "--corpus", corpus.path, "--no-track", *args)
        assert code == 2
        assert message in err


def test_a_model_is_measured_with_what_came_before_the_split_only(corpus, model, tmp_path):
    report = evaluate_pipeline(corpus, model, task="global", split="dev", stages=["first"], k=50)
    assert report.facts["history_until"] == str(int(corpus.years[corpus.split == 2].min()) - 1)
    assert [str(Metric.parse(name)) for name in report.tables[0].columns[2:]] == report.tables[0].columns[2:]
    IndexSnapshot.create(corpus, tmp_path / "index", encoders=load_encoders(model))
    again = evaluate_pipeline(
        corpus, model, task="global", split="dev", stages=["first"], k=50, saved=tmp_path / "index"
    )
    assert again.tables[0].rows == report.tables[0].rows


def test_candidates_are_all_papers_unless_older_ones_are_asked_for(corpus, tmp_path):
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


def test_the_tables_train_what_is_missing_and_only_once(corpus, model):
    report = tables.citeomatic_tables(corpus, model, sample=40)
    second, third, fourth = report.tables
    assert [row[0] for row in second.rows] == ["BM25", "NNSelect", "+ NNRank", "+ metadata"]
    assert [row[0] for row in third.rows] == ["full model", *(row for row, _ in tables.WITHOUT.values())]
    full = third.rows[0]
    assert full[1] == second.rows[2][1]
    for row in third.rows[1:]:
        assert row[2] == pytest.approx(full[1] - row[1])
        assert row[4] == pytest.approx(full[3] - row[3])
    assert [row[0] for row in fourth.rows] == [1, 5, 10, 50]
    variants = sorted((model / "ablations").iterdir())
    assert [path.name for path in variants] == ["metadata", *sorted(tables.WITHOUT)]
    features = {path.name: _settings(path) for path in variants}
    assert not features["without-intersection"]["intersection"]
    assert not features["without-numerical"]["nnselect"]
    assert features["metadata"]["authors"]
    before = {path: path.stat().st_mtime_ns for path in model.rglob("manifest.json")}
    again = tables.citeomatic_tables(corpus, model, only=["2", "3"], sample=40)
    assert [table.rows for table in again.tables] == [second.rows, third.rows]
    assert before == {path: path.stat().st_mtime_ns for path in model.rglob("manifest.json")}


def _settings(folder):
    return json.loads((folder / "nnrank/config.json").read_text())["model"]


def test_the_tables_tell_what_they_lack(corpus, tmp_path, model):
    with pytest.raises(InputError, match="no table '5'"):
        tables.citeomatic_tables(corpus, model, only=["5"])
    (tmp_path / "half/nnselect").mkdir(parents=True)
    with pytest.raises(InputError, match="lacks nnrank"):
        tables.citeomatic_tables(corpus, tmp_path / "half")


def test_two_runs_of_one_name_are_told_apart_by_their_folders(corpus, model, tmp_path, capsys):
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


def test_an_evaluation_that_fails_leaves_the_folder_as_it_was(corpus, tmp_path):
    evaluate_pipeline(corpus, None, stages=["bm25"], k=5, to=tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(InputError, match="no metric is called"):
        evaluate_pipeline(corpus, None, stages=["first"], metrics=["foo@3"], k=9, to=tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
