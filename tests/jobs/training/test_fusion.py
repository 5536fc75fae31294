"""``cocite train fusion`` and ``final`` with real components: a sentence encoder and a cross-encoder of two layers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.manifests import read_manifest
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.learned_fusion.recipe import FinalRecipe, FusionRecipe
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from cocite.text.pair_tokenizer import PairSettings
from cocite_jobs.training.fusion import _compared_orders
from cocite_jobs.training.train import train

TREES = {"trees": 10, "leaves": 7, "threads": 1}
KEPT = {"trees": TREES, "keep": "always"}  # so few queries prove nothing of a stage


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=3, split=(3, 1), context_rate=3.0)


@pytest.fixture(scope="module")
def bert(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = {word for title in corpus.papers.table["title"].to_pylist() for word in title.lower().split()}
    return tiny_bert(tmp_path_factory.mktemp("b") / "bert", words)


@pytest.fixture(scope="module")
def model(corpus: Corpus, bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every component that a small machine trains in seconds, in the order of the documentation."""
    folder = tmp_path_factory.mktemp("m") / "model"
    save_sentence_encoder(folder / "sentence", SentenceRecipe(encoder=str(bert), max_tokens=64), {})
    train(FusionRecipe.parse({"queries": 60, "local_depth": 40, "reserve": 0.5, **KEPT}), corpus, folder)
    pairs = PairSettings(query_tokens=48, candidate_tokens=48, context_tokens=24)
    CrossEncoder.from_pretrained(bert, pairs).save(folder / "cross-encoder")
    train(FinalRecipe.parse({"queries": 20, "rerank": 8, "tasks": ["local"], **KEPT}), corpus, folder)
    return folder


def test_a_final_fusion_is_trained_behind_the_fusion(corpus: Corpus, model: Path) -> None:
    fusion, final = (read_manifest(model / name).meta for name in ("fusion", "final"))
    assert set(fusion["members"]) == {"sentence"}
    assert set(final["members"]) == {"sentence", "fusion", "cross-encoder"}
    assert fusion["recipe"]["reserve"] == 0.5
    assert {"local fusion MRR", "local cross-encoder MRR", "local MRR"} <= set(final["dev"])
    read = json.loads((model / "final" / "local.json").read_text())
    assert read["depth"] == 8
    wanted = {"fusion/gap", "cross-encoder", "cross-encoder/rank", "sentence", "sentence:manuscript"}
    assert wanted <= set(read["signals"])
    assert not (model / "final" / "global.txt").exists()


def test_all_components_work_together(
    corpus: Corpus, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "index"
    code, _, err = call(capsys, "index", "build", corpus.path, "--to", index, "--model", model)
    assert code == 0, err
    recommender = Recommender.load(model, index)
    query = tasks.local(corpus, "test", sample=1).queries[0]
    papers = recommender.recommend(query, Options(top_k=12, rerank=6))
    assert [list(paper.stages) for paper in papers[:6]] == [
        ["first-stage", "fusion", "cross-encoder", "final"]
    ] * 6
    assert [list(paper.stages) for paper in papers[6:]] == [["first-stage", "fusion", "final"]] * 6
    whole = tasks.global_(corpus, "test", sample=1).queries[0]
    assert list(recommender.recommend(whole)[0].stages) == ["first-stage", "fusion"], "it is made for gaps"
    arguments = ("--corpus", corpus.path, "--model", model, "--index", index, "--sample", 10, "--rerank", 5)
    code, out, err = call(capsys, "evaluate", "pipeline", *arguments, "--k", 30, "--no-track", "--json")
    assert code == 0, err
    systems = [row["system"] for row in json.loads(out)["tables"]["metrics"]]
    assert systems == ["bm25", "sentence", "first-without-neural", "first", "fusion", "cross", "full"]
    queries = tasks.local(corpus, "test", sample=5).queries
    saved = recommender.rank(queries, 30, rerank=5)
    assert np.isfinite(saved.scores).all()


@pytest.mark.integration
def test_shards_that_actors_search_give_the_same_fusion(
    corpus: Corpus, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "index"
    line = (
        "index",
        "build",
        corpus.path,
        "--to",
        index,
        "--model",
        model,
        "--before-split",
        "dev",
        "--shards",
        3,
    )
    assert call(capsys, *line)[0] == 0
    written = []
    for place in ("process", "ray"):
        folder = tmp_path / place
        shutil.copytree(model / "sentence", folder / "sentence")
        settings = (
            "queries=60",
            "local_depth=40",
            "reserve=0.5",
            "trees.trees=10",
            "trees.leaves=7",
            "trees.threads=1",
        )
        where = ("--corpus", corpus.path, "--to", folder, "--on", place, "--no-track")
        code, _, err = call(capsys, "train", "fusion", *settings, "keep=always", f"index={index}", *where)
        assert code == 0, err
        written.append(
            [(folder / "fusion" / name).read_text() for name in ("local.txt", "local.json", "global.txt")]
        )
    assert written[0] == written[1]
    code, _, err = call(capsys, "train", "fusion", *where[:-3], "--on", "ray", "--no-track", "--fresh")
    assert (code, "--on: the shards of an index are searched on Ray" in " ".join(err.split())) == (2, True)


def test_components_that_do_not_fit_together_are_refused(
    corpus: Corpus, bert: Path, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="holds no cross-encoder"):
        train(FinalRecipe(), corpus, tmp_path / "none")
    folder = tmp_path / "model"
    save_sentence_encoder(folder / "sentence", SentenceRecipe(encoder=str(bert), max_tokens=64), {})
    (folder / "cross-encoder").symlink_to(model / "cross-encoder")
    small = {"queries": 30, "tasks": ["global"], "global_depth": 30, **KEPT}
    train(FusionRecipe.parse(small), corpus, folder)
    with pytest.raises(InputError, match=r"trained on all dev queries.*\n?.*reserve=0\.3"):
        train(FinalRecipe(), corpus, folder)
    index = Recommender.over(None, _index(corpus, folder)).index
    assert Recommender.over(folder, index).second.fusions
    save_sentence_encoder(folder / "sentence", SentenceRecipe(encoder=str(bert), max_tokens=32), {})
    with pytest.raises(InputError, match="made by encoder"):
        Recommender.over(folder, index)
    with pytest.raises(InputError, match="trained with another sentence"):
        Recommender.over(folder, _index(corpus, folder))
    with pytest.raises(InputError, match="holds no vectors of sentence"):
        Recommender.over(folder, _index(corpus, None))


def test_a_fusion_is_compared_with_the_order_before_it_and_a_final_one_with_the_cross_encoder_too() -> None:
    assert _compared_orders(["bm25", "nnrank"], "nnrank", 0) == ["nnrank"]
    signals = ["bm25", "first-stage/gap", "nnrank/gap", "cross-encoder"]
    assert _compared_orders(signals, "first-stage", 100) == ["nnrank", "cross-encoder"]
    assert _compared_orders([*signals, "fusion/gap"], "first-stage", 100) == ["fusion", "cross-encoder"]
    assert _compared_orders(["first-stage/gap"], "nnrank", 100) == ["first-stage", "cross-encoder"]


def _index(corpus: Corpus, model: Path | None):
    from cocite.pipeline.components import load_encoders
    from cocite.retrieval.index.index import Index

    return Index.build(corpus, tasks.history_before(corpus, "test"), encoders=load_encoders(model))
