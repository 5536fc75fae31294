"""``cocite evaluate cocitation`` on a small synthetic corpus, with baselines, tiny encoders and variants."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from helpers.command_line import call
from helpers.tiny_bert import tiny_bert

from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.evaluation import tasks
from cocite.systems.baselines.cached_vectors import KIND
from cocite.systems.sentence_encoder.encoder import SentenceRecipe
from cocite_jobs.tables import cocitation_variants
from cocite_jobs.tables.cocitation import ALL, Model, history, named
from cocite_jobs.tables.cocitation_variants import VARIANTS
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train

TINY = ["texts.vocabulary=400", "texts.sentence_tokens=24", "model.sentence_tokens=24", "model.hidden=24"]
TINY += [
    "model.heads=2",
    "model.inner=48",
    "training.precision=fp32",
    "training.batch=24",
    "training.steps=2",
]
TINY += ["workers.count=0"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    synthetic = Synthetic(200, seed=6, context_rate=2.0, sentences=True)
    last = int(synthetic.year([199])[0])
    return build(synthetic, tmp_path_factory.mktemp("c") / "store", split=by_year_name(last - 2, last - 1))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("b") / "tiny", [])


@pytest.fixture(scope="module")
def model(corpus, encoder, tmp_path_factory):
    """A model folder with a sentence encoder of random weights."""
    folder = tmp_path_factory.mktemp("m") / "model"
    train(SentenceRecipe(encoder=str(encoder), max_tokens=128), corpus, folder)
    return folder


def tables(capsys, corpus, cache, *args):
    shared = ["--corpus", corpus.path, "--cache", cache, "--no-track", "--json", "--sample", 30]
    code, out, err = call(capsys, "evaluate", "cocitation", *shared, *args)
    assert code == 0, err
    return json.loads(out)


def names(table) -> list[str]:
    return [row["system"] for row in table]


def test_models_and_baselines_have_a_row_each(capsys, corpus, cache, model, encoder, tmp_path) -> None:
    to = tmp_path / "out"
    args = ["--model", model, "--model", f"{model}=again", "--baselines", f"bm25,w2v,{encoder}", "--to", to]
    report = tables(capsys, corpus, cache, *args, "--markdown", tmp_path / "t.md")
    found = report["tables"]
    assert list(found) == ["Table 3: positives", "Table 4: objectives", "co-citation frequency", "time"]
    rows = ["BM25 (context+title)", "Word2Vec", "tiny (local encoder)", "model", "again"]
    assert names(found["Table 3: positives"]) == rows
    assert names(found["co-citation frequency"]) == rows
    assert names(found["Table 4: objectives"]) == ["best baseline", "model", "again"]
    by_name = {row["system"]: row for row in found["Table 3: positives"]}
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


def test_pipelines_are_rows_too(capsys, corpus, cache, model) -> None:
    report = tables(
        capsys, corpus, cache, "--model", model, "--systems", "sentence,first", "--baselines", "none"
    )
    found = report["tables"]
    assert names(found["Table 3: positives"]) == ["sentence", "first"]
    assert "Table 4: objectives" not in found
    assert found["Table 3: positives"][1]["R@10 >= 1"] > found["Table 3: positives"][0]["R@10 >= 1"]


def test_the_training_period_is_what_is_known(corpus) -> None:
    assert history(corpus, "test", with_dev=False).year < history(corpus, "test", with_dev=True).year
    assert history(corpus, "test", with_dev=False).year == tasks.history_before(corpus, "dev").year
    assert history(corpus, "dev", with_dev=True).year == tasks.history_before(corpus, "dev").year


def test_encoders_that_cannot_be_reached_are_told_of(capsys, corpus, cache, monkeypatch) -> None:
    monkeypatch.setattr("cocite_jobs.tables.cocitation.ALL", ("bm25", "scibert", "specter"))
    report = tables(capsys, corpus, cache, "--baselines", "all")
    assert names(report["tables"]["Table 3: positives"]) == ["BM25 (context+title)"]
    assert "allenai/specter (not reached)" in report["left_out"]


@pytest.fixture(scope="module")
def recipes(tmp_path_factory):
    """Recipes of a tiny MP-BERT4CR and its pretraining, as files."""
    folder = tmp_path_factory.mktemp("recipes")
    more = {
        "mp-bert4cr-small": ["dev_contexts=20"],
        "mp-bert4cr-pretraining-small": ["documents.least=2", "documents.dev=5"],
    }
    for name, overrides in more.items():
        recipe = load_recipe(name, [*TINY, *overrides])
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    return folder


def test_what_is_missing_is_trained_and_only_once(
    capsys, corpus, cache, recipes, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(
        cocitation_variants, "VARIANTS", {name: VARIANTS[name] for name in ("triplet", "no_dynamic")}
    )
    to = tmp_path / "model"
    args = ["--model", to, "--train", "--baselines", "bm25", "--recipe", recipes / "mp-bert4cr-small.yaml"]
    args += ["--pretraining", recipes / "mp-bert4cr-pretraining-small.yaml"]
    report = tables(capsys, corpus, cache, *args)
    assert names(report["tables"]["Table 3: positives"])[1:] == ["triplet", "no_dynamic"]
    assert names(report["tables"]["Table 4: objectives"]) == ["best baseline", "triplet", "no_dynamic"]
    recipe = json.loads((to / "ablations/no_dynamic/mp-bert4cr/manifest.json").read_text())["meta"]["recipe"]
    assert recipe["contexts"]["fixed"]
    assert recipe["pretrained"] == "mp-bert4cr-pretraining"
    texts = [to / "sentence-texts/manifest.json", to / "ablations/triplet/sentence-texts/manifest.json"]
    assert texts[0].samefile(texts[1])
    before = {path: path.stat().st_mtime_ns for path in to.rglob("manifest.json")}
    shutil.rmtree(to / "ablations/no_dynamic/mp-bert4cr")
    again = tables(capsys, corpus, cache, *args)
    assert again["tables"]["Table 3: positives"] == report["tables"]["Table 3: positives"]
    after = {path: path.stat().st_mtime_ns for path in to.rglob("manifest.json")}
    assert {path.parent.parent.name for path in after if after[path] != before[path]} == {"no_dynamic"}


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
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_sentence(
    capsys, corpus, cache, model, args, sentence
) -> None:
    args = [arg.replace("MODEL", str(model)) for arg in args]
    shared = ["--corpus", corpus.path, "--cache", cache, "--no-track"]
    code, _, err = call(capsys, "evaluate", "cocitation", *shared, *args)
    assert code == 2
    assert sentence in " ".join(err.split())


def test_names_and_labels_are_read(tmp_path) -> None:
    assert named("all") == ALL
    assert named("none") == ()
    assert named("w2v, bm25") == ("w2v", "bm25")
    assert Model.parse("folder=mpt-src") == Model(tmp_path.__class__("folder"), "mpt-src")
    odd = tmp_path / "a=b"
    odd.mkdir()
    assert Model.parse(str(odd)) == Model(odd)
