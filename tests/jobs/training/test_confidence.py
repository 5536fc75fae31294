"""``cocite train confidence`` and what uses it, with a first stage and a fusion of a small corpus."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.manifests import read_manifest
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.confidence.calibration import Confidence
from cocite.systems.confidence.recipe import ConfidenceRecipe
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.learned_fusion.recipe import FinalRecipe, FusionRecipe
from cocite.text.pair_tokenizer import PairSettings
from cocite_jobs.evaluation.confidence import evaluate_confidence
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import upload_tree
from cocite_jobs.training.train import train

TREES = {"trees": {"trees": 5, "leaves": 7, "threads": 1}, "keep": "always", "queries": 60}
SMALL = {"queries": 60, "depth": 40, "ranks": 20, "threads": 1}


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=3, split=(3, 1), context_rate=3.0)


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, tasks.history_before(corpus, "test"))


def test_the_first_stage_alone_is_calibrated_for_both_kinds(
    corpus: Corpus, index: Index, tmp_path: Path
) -> None:
    trained = train(ConfidenceRecipe.parse(SMALL), corpus, tmp_path / "model")
    confidence = Confidence.read(tmp_path / "model" / "confidence")
    assert {kind: list(stages) for kind, stages in confidence.calibrations.items()} == {
        "local": ["first-stage"],
        "global": ["first-stage"],
    }
    assert 0 <= trained.metrics["local first-stage ECE"] <= 1
    query = tasks.local(corpus, "test", sample=1).queries[0]
    papers = Recommender.over(tmp_path / "model", index).recommend(query, Options(depth=40, top_k=25))
    assert [paper.confidence is None for paper in papers] == [False] * 20 + [True] * 5


@pytest.mark.parametrize("reserve", [0.0, 0.5])
def test_a_fusion_is_scored_on_manuscripts_that_its_trees_did_not_see(
    corpus: Corpus, index: Index, tmp_path: Path, reserve: float
) -> None:
    model = tmp_path / "model"
    fusion = {"local_depth": 40, "tasks": ["local"], "reserve": reserve, **TREES}
    train(FusionRecipe.parse(fusion), corpus, model)
    train(ConfidenceRecipe.parse({**SMALL, "tasks": ["local"]}), corpus, model)
    meta = read_manifest(model / "confidence").meta
    assert set(meta["members"]) == {"fusion"}
    assert set(meta["methods"]) == {"local fusion"}
    query = tasks.local(corpus, "test", sample=1).queries[0]
    papers = Recommender.over(model, index).recommend(query, Options(depth=40))
    values = [paper.confidence for paper in papers]
    assert all(value is not None and 0 < value < 1 for value in values)
    assert values == sorted(values, reverse=True)
    train(FusionRecipe.parse({**fusion, "seed": 1}), corpus, model)
    with pytest.raises(
        InputError, match=r"calibration was trained with another fusion.*\n?.*confidence again"
    ):
        Recommender.over(model, index)


@pytest.fixture(scope="module")
def cross_encoder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of two layers, whose weights are random; it reads gaps alone."""
    folder = tmp_path_factory.mktemp("cross")
    words = {word for title in corpus.papers.table["title"].to_pylist() for word in title.lower().split()}
    torch.manual_seed(0)
    pairs = PairSettings(query_tokens=48, candidate_tokens=48, context_tokens=24)
    CrossEncoder.from_pretrained(tiny_bert(folder / "bert", words), pairs).save(folder / "cross-encoder")
    return folder / "cross-encoder"


def test_behind_a_cross_encoder_there_is_a_calibration_with_it_and_one_without(
    corpus: Corpus, index: Index, cross_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    shutil.copytree(cross_encoder, model / "cross-encoder")
    trained = train(ConfidenceRecipe.parse({**SMALL, "cross_encoded": 30, "rerank": 8}), corpus, model)
    calibrations = Confidence.read(model / "confidence").calibrations
    assert {kind: list(stages) for kind, stages in calibrations.items()} == {
        "local": ["first-stage", "final"],
        "global": ["first-stage"],
    }
    assert (calibrations["local"]["first-stage"].rerank, calibrations["local"]["final"].rerank) == (0, 8)
    assert len(calibrations["local"]["final"].by_rank) == 8
    assert set(read_manifest(model / "confidence").meta["members"]) == {"cross-encoder"}
    queries = {name: count for name, count in trained.details.items() if name.endswith("queries")}
    assert queries == {
        "local first-stage queries": 60,
        "local final queries": 30,
        "global first-stage queries": 37,
    }
    recommender = Recommender.over(model, index)
    query = tasks.local(corpus, "test", sample=1).queries[0]
    known = {
        rerank: sum(
            paper.confidence is not None
            for paper in recommender.recommend(query, Options(depth=40, top_k=25, rerank=rerank))
        )
        for rerank in (0, 7, 8)
    }
    assert known == {0: 20, 7: 0, 8: 8}
    line = ("evaluate", "confidence", "--corpus", corpus.path, "--model", model, "--no-track", "--sample", 20)
    code, out, err = call(capsys, *line, "--depth", 40, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["last_stage"] == "final"
    assert sum(row["papers"] for row in report["tables"]["reliability"]) == 20 * 8


OVERGROWN = {"trees": 60, "leaves": 31, "least_in_leaf": 1, "learning_rate": 0.3, "threads": 1}
"""Trees that learn their queries by heart."""


@pytest.mark.parametrize("last", ["blend", "final"])
def test_probabilities_behind_a_cross_encoder_do_not_believe_what_a_fusion_learned_by_heart(
    corpus: Corpus, cross_encoder: Path, tmp_path: Path, last: str
) -> None:
    model = tmp_path / "model"
    shared = {"tasks": ["local"], "keep": "always", "held_out": 0, "trees": OVERGROWN, "queries": 200}
    reserve = 0.6 if last == "final" else 0.0
    train(FusionRecipe.parse({**shared, "local_depth": 40, "reserve": reserve}), corpus, model)
    shutil.copytree(cross_encoder, model / "cross-encoder")
    if last == "final":
        train(FinalRecipe.parse({**shared, "rerank": 8}), corpus, model)
    recipe = {**SMALL, "tasks": ["local"], "queries": 200, "cross_encoded": 200, "rerank": 8}
    train(ConfidenceRecipe.parse(recipe), corpus, model)
    measured = evaluate_confidence(corpus, model, depth=40)
    best = dict(zip(measured.report.tables[0].columns, measured.report.tables[0].rows[1], strict=True))
    assert measured.report.facts["last_stage"] == "final"
    assert best["ranks"] == "1"
    assert best["cited"] < best["probability"] + 0.1
    assert best["probability"] < best["cited"] + 0.3, (
        "from scores of queries that the trees know it is above .8"
    )


def test_an_index_elsewhere_gives_the_same_fusion_and_the_same_fit(
    corpus: Corpus, tmp_path: Path, remote: str
) -> None:
    IndexSnapshot.create(corpus, tmp_path / "index", before_split="dev")
    upload_tree(tmp_path / "index", Location.of(remote) / "index")
    written = []
    for name, index in (("here", str(tmp_path / "index")), ("elsewhere", f"{remote}/index")):
        model = tmp_path / name
        fusion = {"local_depth": 40, "tasks": ["local"], "index": index, "keep": "always", **TREES}
        train(FusionRecipe.parse(fusion), corpus, model)
        train(ConfidenceRecipe.parse({**SMALL, "tasks": ["local"], "index": index}), corpus, model)
        fit = Confidence.read(model / "confidence").calibrations["local"]["fusion"]
        written.append(((model / "fusion" / "local.txt").read_text(), fit))
    assert written[0] == written[1]


def test_a_fit_is_the_same_when_it_is_made_again(corpus: Corpus, tmp_path: Path) -> None:
    recipe = ConfidenceRecipe.parse({**SMALL, "tasks": ["global"]})
    for name in ("a", "b"):
        train(recipe, corpus, tmp_path / name)
    one, other = (
        Confidence.read(tmp_path / name / "confidence").of("global", "first-stage") for name in ("a", "b")
    )
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one.probabilities, other.probabilities)


def test_the_command_measures_a_model_and_draws_its_diagram(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(ConfidenceRecipe.parse({**SMALL, "tasks": ["global"]}), corpus, tmp_path / "model")
    line = ("evaluate", "confidence", "--corpus", corpus.path, "--model", tmp_path / "model", "--no-track")
    svg = tmp_path / "out" / "diagram.svg"
    more = ("--task", "global", "--sample", 20, "--depth", 40, "--diagram", svg, "--json")
    code, out, err = call(capsys, *line, *more)
    assert code == 0, err
    report = json.loads(out)
    assert report["last_stage"] == "first-stage"
    assert [row["ranks"] for row in report["tables"]["calibration"]] == ["1 to 20", "1", "2 to 5", "6 to 20"]
    assert sum(row["papers"] for row in report["tables"]["reliability"]) == 20 * 20
    assert svg.read_text().startswith("<svg")
    code, out, err = call(capsys, *line, *more, "--year-from", 2000, "--year-to", 2008)
    assert code == 0, err
    chosen = json.loads(out)
    assert (report["years"], chosen["years"]) == ("all", "2000 to 2008")
    cited = [each["tables"]["calibration"][0]["cited"] for each in (report, chosen)]
    assert cited[0] != cited[1]
    code, _, err = call(capsys, *line, "--task", "local", "--sample", 5, "--depth", 40)
    assert code == 2
    assert "holds no calibration for local queries whose last stage is first-stage" in err
