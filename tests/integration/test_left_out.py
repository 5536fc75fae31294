"""A stage that its training found below the one before it: named, left out by all that load it, kept when told to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import publish
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import systems, tasks
from cocite.manifests import read_manifest
from cocite.pipeline import components
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.train import train

METRICS = ("F1@20", "MRR", "R@10")
SELECT: dict[str, Any] = {
    "model": {"dimension": 48},
    "objective": {"word_dropout": 0.3},
    "training": {"epochs": 3, "batch": 256, "patience": 1},
}
RANK: dict[str, Any] = {
    "model": {"dimension": 16},
    "objective": {"folds": 2, "word_dropout": 0.3, "table_rate": 0.001},
    "candidates": {"neighbours": 50},
    "training": {"epochs": 4, "batch": 32, "patience": 2, "optimizer": {"learning_rate": 0.01}},
}
FUSION: dict[str, Any] = {"queries": 300, "local_depth": 60, "global_depth": 80}
FUSION["trees"] = {"trees": 60, "leaves": 15, "threads": 1}


@pytest.fixture(scope="module")
def one_year(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(1000, seed=5, one_year=True, context_rate=2.0)


@pytest.fixture(scope="module")
def model(one_year: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("m") / "model"
    train(NNSelectRecipe.parse(SELECT), one_year, folder)
    train(NNRankRecipe.parse(RANK), one_year, folder)
    train(FusionRecipe.parse(FUSION), one_year, folder)
    return folder


@pytest.fixture(scope="module")
def index(one_year: Corpus, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("i") / "index"
    IndexSnapshot.create(one_year, folder, encoders=components.load_encoders(model))
    return folder


def changed(model: Path, to: Path, **left_out: dict[str, str]) -> Path:
    """A copy of a model folder whose manifests leave these members out, and no other: ``nnrank={"local": "why"}``."""
    shutil.copytree(model, to)
    for name in ("nnrank", "fusion"):
        kinds = left_out.get(name, {})
        manifest = read_manifest(to / name)
        with publish(
            to / name, kind=manifest.kind, meta={**manifest.meta, "left_out": kinds}, replace=True
        ) as new:
            for file in manifest.files:
                shutil.copyfile(model / name / file, new / file)
    return to


@pytest.mark.parametrize("task", ["global", "local"])
def test_on_papers_of_one_year_no_stage_is_below_the_one_before_it(
    one_year: Corpus, model: Path, capsys: pytest.CaptureFixture[str], task: str
) -> None:
    given = ["--corpus", one_year.path, "--model", model, "--task", task, "--metrics", ",".join(METRICS)]
    code, out, err = call(capsys, "evaluate", "pipeline", *given, "--k", 300, "--no-track", "--json")
    assert code == 0, err
    found = {row["system"]: row for row in json.loads(out)["tables"]["metrics"]}
    stages = [("bm25", "first"), ("first", "full")]
    stages += [("nnselect", "nnrank")] if task == "global" else []
    for before, stage in stages:
        for metric in METRICS:
            assert found[stage][metric] >= found[before][metric] - 0.02, (before, stage, metric)


def test_the_manifest_says_what_each_stage_was_compared_with(model: Path) -> None:
    nnrank, fusion = (read_manifest(model / name).meta for name in ("nnrank", "fusion"))
    compared = {(stage["before"], stage["kind"]): stage for stage in nnrank["stages"]}
    assert set(compared) == {("nnselect", "global"), ("first-stage", "global"), ("first-stage", "local")}
    assert not compared["nnselect", "global"]["below"]
    assert compared["first-stage", "local"]["below"], "it reads no context"
    assert "local" in nnrank["left_out"]
    assert "all" not in nnrank["left_out"]
    assert any(note.startswith("step ") for note in nnrank["notes"])
    assert {stage["kind"] for stage in fusion["stages"]} == {"local", "global"}
    for stage in fusion["stages"]:
        low, high = stage["intervals"]["MRR"]
        assert low <= stage["values"]["MRR"][0] <= high
        assert stage["queries"] >= stage["manuscripts"] > 1
        assert fusion["dev"][f"{stage['kind']} MRR"] == pytest.approx(stage["values"]["MRR"][0], abs=1e-6)
    assert set(fusion["left_out"]) == {stage["kind"] for stage in fusion["stages"] if stage["below"]}
    assert any("trees are kept" in note for note in fusion["notes"])


def test_nnrank_orders_nothing_where_the_first_stage_is_better(
    one_year: Corpus, model: Path, index: Path, tmp_path: Path
) -> None:
    folder = changed(model, tmp_path / "m", nnrank={"local": "why"})
    shutil.rmtree(folder / "fusion")
    assert components.active_components(folder) == ["nnselect", "nnrank"]
    assert components.exclusion_notes(folder) == ["why"]
    recommender = Recommender.load(folder, index)
    assert recommender.exclusion_notes == ("why",)
    local, whole = (tasks.build(one_year, kind, "test", sample=9).queries for kind in ("local", "global"))
    first = recommender.first
    assert np.array_equal(recommender.rank(local, 50).rows, first.search(local, 50).rows)
    assert not np.array_equal(recommender.rank(whole, 50).rows, first.search(whole, 50).rows)
    # Where a fusion weighs its score, it is there all the same, and nobody need be told.
    both = changed(model, tmp_path / "b", nnrank={"local": "why"})
    assert components.exclusion_notes(both) == []
    assert "nnrank" in Recommender.load(both, index).recommend(local[0])[0].stages


def test_an_nnrank_below_nnselect_is_left_out_of_everything(
    one_year: Corpus, model: Path, index: Path, tmp_path: Path
) -> None:
    folder = changed(model, tmp_path / "m", nnrank={"all": "nnrank is below nnselect"})
    assert components.active_components(folder) == ["nnselect", "fusion"]
    with pytest.raises(InputError, match="reads the signal 'nnrank', and nnrank is left out"):
        Recommender.load(folder, index)
    train(FusionRecipe.parse({**FUSION, "tasks": ["global"], "queries": 60}), one_year, folder)
    assert set(read_manifest(folder / "fusion").meta["members"]) == {"nnselect"}
    recommender = Recommender.load(folder, index)
    assert recommender.exclusion_notes[0] == "nnrank is below nnselect"
    query = tasks.build(one_year, "global", "test", sample=1).queries[0]
    assert "nnrank" not in recommender.recommend(query)[0].stages
    # Trained to be kept, it is there again, and the fusion knows that it was not.
    with pytest.raises(InputError, match="trained without nnrank, which is there now"):
        Recommender.load(changed(folder, tmp_path / "again"), index)


def test_a_fusion_that_is_left_out_leaves_the_order_before_it(
    one_year: Corpus, model: Path, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    why = {"global": "fusion is below nnrank on global dev queries", "local": "and on local ones"}
    partly = changed(model, tmp_path / "partly", fusion={"global": why["global"]})
    assert [
        list(Recommender.load(partly, index).second.fusions),
        components.active_components(partly)[-1],
    ] == [
        ["local"],
        "fusion",
    ]
    folder = changed(model, tmp_path / "m", fusion=why)
    assert components.active_components(folder) == ["nnselect", "nnrank"]
    assert not Recommender.load(folder, index).second.fusions
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"id": "a", "title": "some words of a title"}\n')
    given = [
        "--queries",
        queries,
        "--index",
        index,
        "--model",
        folder,
        "--to",
        tmp_path / "r.trec",
        "--k",
        20,
    ]
    code, _, err = call(capsys, "rank", *given)
    assert code == 0
    assert err.splitlines()[:2] == [f"cocite: warning: {reason}" for reason in why.values()]
    given = [
        "--corpus",
        one_year.path,
        "--model",
        folder,
        "--task",
        "global",
        "--sample",
        5,
        "--k",
        20,
        "--no-track",
    ]
    code, out, err = call(capsys, "evaluate", "pipeline", *given, "--json")
    assert (code, json.loads(out)["left_out"]) == (0, "; ".join(why.values())), err
    assert why["global"] in err


def test_what_is_left_out_is_no_system_and_says_why(model: Path, tmp_path: Path) -> None:
    folder = changed(model, tmp_path / "m", nnrank={"all": "nnrank is below nnselect: .1 against .2"})
    shutil.rmtree(folder / "fusion")
    assert systems.available(folder) == ["bm25", "nnselect", "first-without-neural", "first"]

    with pytest.raises(InputError, match=r"--stages nnrank: nnrank is below nnselect: \.1 against \.2"):
        systems.select(folder, ["nnrank"], where="--stages")


def test_a_training_says_that_the_start_was_best_and_what_is_below(
    one_year: Corpus, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A learning rate that ruins the weights: the start is kept, and an NNRank that never learned is left out."""
    folder = tmp_path / "m"
    folder.mkdir()
    shutil.copytree(model / "nnselect", folder / "nnselect")
    recipe = tmp_path / "nnrank.yaml"
    ruined = {
        **RANK,
        "kind": "nnrank",
        "training": {"epochs": 1, "batch": 32, "optimizer": {"learning_rate": 1e-12}},
    }
    ruined["objective"] = {**RANK["objective"], "folds": 0, "table_rate": 1e-12}
    recipe.write_text(json.dumps(ruined))
    given = ["train", recipe, "--corpus", one_year.path, "--to", folder, "--no-track", "--json"]
    code, out, err = call(capsys, *given)
    assert code == 0, err
    notes = json.loads(out)["notes"]
    assert notes == read_manifest(folder / "nnrank").meta["notes"]
    assert "no step was better than the start (F1@20 0." in notes[0]
    assert notes[0] in err
    assert any(
        "nnrank is below nnselect" in note and "it is left out of the pipeline" in note for note in notes
    )
    assert components.active_components(folder) == ["nnselect"]
    code, out, err = call(capsys, *given, "keep=always")
    assert code == 0, err
    assert any("kept all the same, as keep=always says" in note for note in json.loads(out)["notes"])
    assert components.active_components(folder) == ["nnselect", "nnrank"]
    assert components.ordered_kinds(folder, "nnrank") == ["local", "global"]


def test_folds_of_an_untrained_nnselect_are_not_trained(one_year: Corpus, tmp_path: Path) -> None:
    stages: list[str] = []
    report = ProgressFunctions(stage=lambda name, _: stages.append(name))
    train(
        NNSelectRecipe.parse(
            {**SELECT, "training": {"epochs": 1, "batch": 256, "optimizer": {"learning_rate": 1e-12}}}
        ),
        one_year,
        tmp_path,
    )
    manifest = read_manifest(tmp_path / "nnselect")
    with publish(
        tmp_path / "nnselect", kind="nnselect", meta={**manifest.meta, "epoch": 0}, replace=True
    ) as new:
        for file in manifest.files:
            shutil.copyfile(tmp_path / "nnselect" / file, new / file)
    train(NNRankRecipe.parse({**RANK, "training": {"epochs": 1, "batch": 32}}), one_year, tmp_path, report)
    assert "comparing with the stages before" in stages
    assert not [stage for stage in stages if "fold" in stage]
