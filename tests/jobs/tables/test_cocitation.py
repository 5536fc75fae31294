"""``cocite evaluate cocitation`` on a small synthetic corpus, with baselines and tiny encoders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.cocitation_report import cocitation_report, systems_of
from helpers.command_line import call

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.systems.baselines.cached_vectors import KIND
from cocite.systems.sentence_encoder.recipe import SentenceRecipe
from cocite_jobs.tables.cocitation import cocitation_tables, known_history
from cocite_jobs.training.train import train


@pytest.fixture(scope="module")
def corpus(cited_together: Corpus) -> Corpus:
    return cited_together


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def model(corpus: Corpus, encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with a sentence encoder of random weights."""
    folder = tmp_path_factory.mktemp("m") / "model"
    train(SentenceRecipe(encoder=str(encoder), max_tokens=128), corpus, folder)
    return folder


def test_models_and_baselines_have_a_row_each(
    capsys: pytest.CaptureFixture[str],
    corpus: Corpus,
    cache: Path,
    model: Path,
    encoder: Path,
    tmp_path: Path,
) -> None:
    to = tmp_path / "out"
    args = ["--model", model, "--model", f"{model}=again", "--baselines", f"bm25,w2v,{encoder}", "--to", to]
    args += ["--reads", "context"]
    report = cocitation_report(capsys, corpus, cache, *args, "--markdown", tmp_path / "t.md")
    made = report["tables"]
    assert list(made) == ["Table 3: positives", "Table 4: objectives", "co-citation frequency", "time"]
    rows = ["BM25 (context+title)", "Word2Vec", "tiny (local encoder)", "model", "again"]
    assert systems_of(made["Table 3: positives"]) == rows
    assert systems_of(made["co-citation frequency"]) == rows
    assert systems_of(made["Table 4: objectives"]) == ["best baseline", "model", "again"]
    by_name = {row["system"]: row for row in made["Table 3: positives"]}
    assert by_name["BM25 (context+title)"]["R@10 >= 1"] > 10 / 200
    # The local encoder's weights are the model's: zero-shot it finds the same.
    for metric in ("R@10 >= 1", "MAP@10 >= 2"):
        assert by_name["tiny (local encoder)"][metric] == pytest.approx(by_name["model"][metric], abs=0.02)
        assert by_name["again"][metric] == by_name["model"][metric]
    assert "| Word2Vec |" in (tmp_path / "t.md").read_text()
    runs = {"BM25-context-title.trec", "Word2Vec.trec", "tiny-local-encoder.trec", "model.trec", "again.trec"}
    assert {path.name for path in to.iterdir()} == {*runs, "qrels.trec", "report.json", "report.md"}
    code, out, err = call(
        capsys,
        "evaluate",
        "run",
        to / "Word2Vec.trec",
        "--qrels",
        to / "qrels.trec",
        "--metrics",
        "MAP@10",
        "--json",
    )
    assert code == 0, err
    judged = json.loads(out)["tables"]["metrics"][0]["MAP@10"]
    assert judged == pytest.approx(by_name["Word2Vec"]["MAP@10 >= 1"])
    vectors = [path for path in cache.iterdir() if path.name.startswith("vectors-")]
    assert len(vectors) == 2
    assert all(json.loads((path / "manifest.json").read_text())["kind"] == KIND for path in vectors)


def test_variants_are_tested_against_the_one_that_is_named(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, cache: Path, model: Path
) -> None:
    models = ["--model", f"{model}=one", "--model", f"{model}=other", "--baselines", "none"]
    notes = []
    for more in ([], ["--base", "one"]):
        line = ["--corpus", corpus.path, "--cache", cache, "--no-track", "--sample", 30, *models, *more]
        code, out, err = call(capsys, "evaluate", "cocitation", *line)
        assert code == 0, err
        notes.append("worse than one (paired t-test" in " ".join(out.split()))
    assert notes == [False, True]


def test_pipelines_are_rows_too(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, cache: Path, model: Path
) -> None:
    report = cocitation_report(
        capsys, corpus, cache, "--model", model, "--systems", "sentence,first", "--baselines", "none"
    )
    made = report["tables"]
    assert systems_of(made["Table 3: positives"]) == ["sentence", "first"]
    assert "Table 4: objectives" not in made
    assert made["Table 3: positives"][1]["R@10 >= 1"] > made["Table 3: positives"][0]["R@10 >= 1"]


def test_the_training_period_is_what_is_known(corpus: Corpus) -> None:
    assert (
        known_history(corpus, "test", with_dev=False).year < known_history(corpus, "test", with_dev=True).year
    )
    assert known_history(corpus, "test", with_dev=False).year == tasks.history_before(corpus, "dev").year
    assert known_history(corpus, "dev", with_dev=True).year == tasks.history_before(corpus, "dev").year


def test_encoders_that_cannot_be_reached_are_left_out_and_reported(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cocite_jobs.tables.cocitation_systems.ALL_BASELINES", ("bm25", "scibert", "specter"))
    report = cocitation_report(capsys, corpus, cache, "--baselines", "all", "--reads", "context")
    assert systems_of(report["tables"]["Table 3: positives"]) == ["BM25 (context+title)"]
    assert "allenai/specter (not reached)" in report["left_out"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--baselines", "w2vec"], "did you mean 'w2v'"),
        (["--baselines", "scibert"], "HF_HUB_OFFLINE forbids to ask the hub"),
        (["--baselines", "none"], "nothing to measure"),
        (["--baselines", "bm25", "--split", "train"], "trained on it"),
        (["--baselines", "bm25", "--train"], "names no folder to train into"),
        (["--baselines", "bm25", "--model", "MODEL", "--systems", "hatten"], "holds no hatten"),
        (["--baselines", "bm25", "--model", "MODEL", "--systems", "secnd"], "no system is called"),
        (["--baselines", "bm25", "--model", "MODEL=a", "--model", "MODEL=a"], "two rows are called 'a'"),
        (
            ["--baselines", "none", "--model", "MODEL=first", "--base", "frist"],
            "--base: no model folder is labelled 'frist' (did you mean 'first'?)",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
    corpus: Corpus,
    cache: Path,
    model: Path,
    args: list[str],
    sentence: str,
) -> None:
    args = [arg.replace("MODEL", str(model)) for arg in args]
    shared = ["--corpus", corpus.path, "--cache", cache, "--no-track"]
    code, _, err = call(capsys, "evaluate", "cocitation", *shared, *args)
    assert code == 2
    assert sentence in " ".join(err.split())


def test_the_rankings_are_as_deep_as_the_metrics_look(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--k: the metrics look at the first 10"):
        cocitation_tables(corpus, [], baselines=["bm25"], k=9, to=tmp_path / "out")
    assert not (tmp_path / "out").exists()
