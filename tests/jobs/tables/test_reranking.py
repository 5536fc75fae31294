"""``cocite evaluate reranking`` on a small synthetic corpus, with a cross-encoder of random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.baselines.bert_gcn import BertGcnSettings
from cocite.systems.baselines.dual import DualSettings
from cocite.systems.baselines.ncn import NcnSettings
from cocite.systems.baselines.sent2vec import Sent2VecSettings
from cocite.systems.baselines.train import RERANKERS, BaselineSettings
from cocite.systems.baselines.word2vec import Word2VecSettings
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.reranker import CrossEncoderReranker
from cocite.text.pair_tokenizer import PairSettings
from cocite_jobs.tables.reranking import TABLES, reranking_tables
from cocite_jobs.training.train import train


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=3, split=(2, 1))


@pytest.fixture(scope="module")
def encoders(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with NNSelect alone."""
    folder = tmp_path_factory.mktemp("m") / "model"
    recipe = {"model": {"dimension": 8}, "training": {"epochs": 1}}
    train(NNSelectRecipe.parse(recipe), corpus, folder)
    return folder


@pytest.fixture(scope="module")
def model(encoders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a cross-encoder."""
    folder = tmp_path_factory.mktemp("x") / "model"
    shutil.copytree(encoders, folder)
    trunk = tiny_bert(tmp_path_factory.mktemp("b") / "bert", [])
    pairs = PairSettings(query_tokens=32, candidate_tokens=32, context_tokens=16)
    CrossEncoder.from_pretrained(trunk, pairs=pairs).save(folder / "cross-encoder")
    return folder


def tables(capsys: pytest.CaptureFixture[str], corpus: Corpus, model: Path, *args: object) -> Any:
    shared = ["--corpus", corpus.path, "--model", model, "--no-track", "--json"]
    code, out, err = call(capsys, "evaluate", "reranking", *shared, *args)
    assert code == 0, err
    return json.loads(out)["tables"]


def test_every_table_is_printed(capsys: pytest.CaptureFixture[str], corpus: Corpus, model: Path) -> None:
    made = tables(
        capsys, corpus, model, "--sample", 8, "--depths", "5,10", "--oracle-depth", 15, "--split", "test"
    )
    assert len(made) == len(TABLES)
    prefetching = {row["system"]: row for row in made["prefetching"]}
    assert list(prefetching) == ["bm25 (context)", "bm25", "nnselect", "first-without-neural", "first"]
    assert all(
        0 <= row["R@10"] <= row["R@2000"] <= 1 and row["ms per query"] > 0 for row in prefetching.values()
    )
    assert prefetching["first"]["R@2000"] == 1  # of 300 papers all are found
    oracle = {row["system"]: row for row in made["reranking, oracle BM25"]}
    assert set(oracle) == {"bm25", "cross-encoder"}
    assert [row["candidates"] for row in made["reranking time"]] == [5, 10]
    assert len(made["token budgets"]) == 7
    pipeline = {row["pipeline"]: row for row in made["R@10 by the number of reranked candidates"]}
    # Ten candidates in another order: what is among the first ten is the same.
    assert pipeline["first"]["10 reranked"] == pipeline["first + cross-encoder"]["10 reranked"]
    forms = [row["system"] for row in made["BM25 by form of the query"]]
    assert "context+title" in forms
    assert "key-terms" in forms


def test_bm25s_candidates_are_reranked_and_kept(corpus: Corpus, model: Path) -> None:
    settings: dict[str, Any] = {"task": "global", "sample": 8, "depths": (40,)}
    reranked, budgets = reranking_tables(
        corpus, model, only=["bm25", "budgets"], prefetcher="bm25", **settings
    ).tables
    assert [row[0] for row in reranked.rows] == ["bm25", "bm25 + cross-encoder"]
    assert reranked.columns == ["system", "F1@20", "MRR", "R@1000"]
    assert reranked.rows[0][3] == reranked.rows[1][3], "reranking finds nothing new"
    assert "40 candidates of bm25" in budgets.note
    [of_first] = reranking_tables(corpus, model, only=["budgets"], **settings).tables
    assert of_first.rows != budgets.rows


def test_global_queries_have_tables_of_their_own(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, model: Path
) -> None:
    made = tables(capsys, corpus, model, "--task", "global", "--sample", 6, "--only", "forms,reranking")
    assert [row["system"] for row in made["BM25 by form of the query"]] == [
        "title",
        "title+abstract",
        "key-terms",
        "key-terms-by-field",
    ]
    assert "F1@20" in made["reranking, oracle BM25"][0]


def test_without_a_cross_encoder_only_retrieval_is_measured(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, encoders: Path
) -> None:
    made = tables(capsys, corpus, encoders, "--sample", 6)
    assert list(made) == ["prefetching", "BM25 by form of the query"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--only", "pipeline"], "holds no cross-encoder"),
        (["--only", "prefetchin"], "prefetching"),
        (["--depths", "5,x"], "whole numbers"),
        (["--depths", "0"], "counted from 1"),
        (["--baselines", "s2w"], "no baseline is called 's2w' (did you mean 's2v'"),
        (["--trained", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, encoders: Path, args: list[str], sentence: str
) -> None:
    shared = ["--corpus", corpus.path, "--model", encoders, "--no-track"]
    code, _, err = call(capsys, "evaluate", "reranking", *shared, *args)
    assert code == 2
    assert sentence in err


def test_every_table_has_a_row_for_its_source() -> None:
    assert all("Table" in text or "Figure" in text for text in TABLES.values())


def test_each_prefetcher_may_have_a_cross_encoder_of_its_own(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, model: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    trunk = tiny_bert(tmp_path / "bert", ["parsing"])
    torch.manual_seed(9)
    pairs = PairSettings(query_tokens=48, candidate_tokens=48, context_tokens=16)
    CrossEncoder.from_pretrained(trunk, pairs=pairs).save(other / "cross-encoder")
    asked = ("--only", "pipeline", "--sample", 12, "--depths", "20")
    one = tables(capsys, corpus, model, *asked)
    two = tables(capsys, corpus, model, *asked, "--reranker", f"bm25={other}")
    [column] = [name for name in next(iter(one.values()))[0] if "reranked" in name]
    one, two = ({row["pipeline"]: row[column] for row in next(iter(made.values()))} for made in (one, two))
    assert f"bm25 + cross-encoder of {other}" in two
    assert "bm25 + cross-encoder" not in two
    assert two["first + cross-encoder"] == one["first + cross-encoder"]
    shared = ["--corpus", corpus.path, "--model", model, "--no-track", "--reranker"]
    for value, sentence in (
        ("bm52=x", "bm25"),
        ("bm25", "NAME=FOLDER"),
        ("bm25=nowhere", "no such model folder"),
    ):
        code, _, err = call(capsys, "evaluate", "reranking", *shared, value)
        assert code in (2, 3, 4)
        assert sentence in err


def test_baselines_have_rows_where_they_rank_and_where_they_rerank(
    corpus: Corpus, model: Path, encoders: Path, tmp_path: Path
) -> None:
    settings = BaselineSettings(
        s2v=Sent2VecSettings(dimension=8, epochs=1),
        ncn=NcnSettings(dimension=8, channels=8, epochs=1, batch=256),
        dual=DualSettings(hidden=6, attention=4, author_dimension=4, channels=4),
        bertgcn=BertGcnSettings(inner=8, graph_hidden=4, graph=4, graph_epochs=2, epochs=1),
        w2v=Word2VecSettings(dimension=8, epochs=1),
    )
    asked: dict[str, Any] = {"only": ["prefetching", "reranking"], "sample": 6, "oracle_depth": 8}
    prefetching, reranking = reranking_tables(
        corpus, model, **asked, baselines=["s2v", *RERANKERS], cache=tmp_path, settings=settings
    ).tables
    assert prefetching.rows[-1][0] == "Sent2Vec"
    assert prefetching.rows[-1][1] > 0, "it finds something"
    assert [row[0] for row in reranking.rows] == ["bm25", *RERANKERS.values(), "cross-encoder"]
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"words", "s2v", "w2v", *RERANKERS}
    alone = reranking_tables(
        corpus, encoders, **asked, baselines=["s2v", *RERANKERS], cache=tmp_path, settings=settings
    ).tables
    assert alone[1].rows == reranking.rows[:-1], "without a cross-encoder all but its own row"
    without = reranking_tables(corpus, model, **asked, cache=tmp_path / "unused").tables
    assert [row[:-1] for row in without[0].rows] == [row[:-1] for row in prefetching.rows[:-1]]
    assert not (tmp_path / "unused").exists(), "nothing is trained that is not asked for"


def test_rerankers_of_other_splits_stand_in_the_table_of_budgets(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, model: Path
) -> None:
    asked = ("--only", "budgets", "--task", "local", "--sample", 6, "--depths", "20")
    made = tables(capsys, corpus, model, *asked, "--trained", model)["token budgets"]
    beside = {row["system"]: row["R@10, trained for it"] for row in made}
    own = {row["system"]: row["R@10"] for row in made}
    assert [name for name, value in beside.items() if value is not None] == ["32 + 32"], "its own split"
    assert set(beside) == set(own)


def test_an_oracle_needs_two_candidates(corpus: Corpus, model: Path) -> None:
    with pytest.raises(InputError, match="1 candidates are too few: an oracle needs 2"):
        reranking_tables(corpus, model, only=["reranking"], oracle_depth=1)


def test_a_pair_is_scored_once_for_all_depths(
    corpus: Corpus, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs: list[tuple[str, int]] = []
    score = CrossEncoderReranker.score

    def recorded(self: CrossEncoderReranker, queries: Any, candidates: Any) -> Any:
        for query, rows in zip(queries, candidates.rows, strict=True):
            pairs.extend((query.id, int(row)) for row in rows if row >= 0)
        return score(self, queries, candidates)

    monkeypatch.setattr(CrossEncoderReranker, "score", recorded)
    reranking_tables(corpus, model, only=["pipeline"], sample=4, depths=[3, 6])
    assert pairs
    assert len(pairs) == len(set(pairs))
