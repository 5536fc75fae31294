"""``cocite evaluate reranking`` on a small synthetic corpus, with a cross-encoder of random weights."""

from __future__ import annotations

import json

import pytest
from helpers.command_line import call
from helpers.tiny_bert import tiny_bert

from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.systems.citeomatic.nnselect_recipe import NNSelectRecipe
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.text.pair_tokenizer import PairSettings
from cocite_jobs.tables.reranking import TABLES
from cocite_jobs.training.train import train


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    synthetic = Synthetic(300, seed=3)
    last = int(synthetic.year([299])[0])
    return build(synthetic, tmp_path_factory.mktemp("c") / "store", split=by_year_name(last - 2, last - 1))


@pytest.fixture(scope="module")
def encoders(corpus, tmp_path_factory):
    """A model folder with NNSelect alone."""
    folder = tmp_path_factory.mktemp("m") / "model"
    recipe = {"model": {"dimension": 8}, "training": {"epochs": 1}}
    train(NNSelectRecipe.parse(recipe), corpus, folder)
    return folder


@pytest.fixture(scope="module")
def model(encoders, tmp_path_factory):
    """The same with a cross-encoder."""
    import shutil

    folder = tmp_path_factory.mktemp("x") / "model"
    shutil.copytree(encoders, folder)
    backbone = tiny_bert(tmp_path_factory.mktemp("b") / "bert", [])
    pairs = PairSettings(query_tokens=32, candidate_tokens=32, context_tokens=16)
    CrossEncoder.from_pretrained(backbone, pairs=pairs).save(folder / "cross-encoder")
    return folder


def tables(capsys, corpus, model, *args):
    shared = ["--corpus", corpus.path, "--model", model, "--no-track", "--json"]
    code, out, err = call(capsys, "evaluate", "reranking", *shared, *args)
    assert code == 0, err
    return json.loads(out)["tables"]


def test_every_table_is_printed(capsys, corpus, model):
    found = tables(
        capsys, corpus, model, "--sample", 8, "--depths", "5,10", "--oracle-depth", 15, "--split", "test"
    )
    assert len(found) == len(TABLES)
    prefetching = {row["system"]: row for row in found["prefetching"]}
    assert list(prefetching) == ["bm25 (context)", "bm25", "nnselect", "first-without-neural", "first"]
    assert all(
        0 <= row["R@10"] <= row["R@2000"] <= 1 and row["ms per query"] > 0 for row in prefetching.values()
    )
    assert prefetching["first"]["R@2000"] == 1  # of 300 papers all are found
    oracle = {row["system"]: row for row in found["reranking, oracle BM25"]}
    assert set(oracle) == {"bm25", "cross-encoder"}
    assert [row["candidates"] for row in found["reranking time"]] == [5, 10]
    assert len(found["token budgets"]) == 5
    pipeline = {row["pipeline"]: row for row in found["R@10 by the number of reranked candidates"]}
    # Ten candidates in another order: what is among the first ten is the same.
    assert pipeline["first"]["10 reranked"] == pipeline["first + cross-encoder"]["10 reranked"]
    forms = [row["system"] for row in found["BM25 by form of the query"]]
    assert "context+title" in forms
    assert "key-terms" in forms


def test_global_queries_have_tables_of_their_own(capsys, corpus, model):
    found = tables(capsys, corpus, model, "--task", "global", "--sample", 6, "--only", "forms,reranking")
    assert [row["system"] for row in found["BM25 by form of the query"]] == [
        "title",
        "title+abstract",
        "key-terms",
    ]
    assert "F1@20" in found["reranking, oracle BM25"][0]


def test_without_a_cross_encoder_only_retrieval_is_measured(capsys, corpus, encoders):
    found = tables(capsys, corpus, encoders, "--sample", 6)
    assert list(found) == ["prefetching", "BM25 by form of the query"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--only", "pipeline"], "holds no cross-encoder"),
        (["--only", "prefetchin"], "prefetching"),
        (["--depths", "5,x"], "whole numbers"),
        (["--depths", "0"], "counted from 1"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_sentence(capsys, corpus, encoders, args, sentence):
    shared = ["--corpus", corpus.path, "--model", encoders, "--no-track"]
    code, _, err = call(capsys, "evaluate", "reranking", *shared, *args)
    assert code == 2
    assert sentence in err
