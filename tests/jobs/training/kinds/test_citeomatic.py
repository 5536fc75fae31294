from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import verify
from cocite.cli import main
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.citeomatic.nnrank.reranker import load_reranker
from cocite.systems.citeomatic.nnselect.encoder import load_encoder
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import open_session, train
from cocite_jobs.training.types import LaunchOptions


@pytest.fixture
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(600, seed=11)


SMALL_SELECT = [
    "model.dimension=8",
    "training.batch=256",
    "training.epochs=2",
    "training.optimizer.learning_rate=0.02",
]
SMALL_RANK = [
    "model.dimension=8",
    "training.batch=64",
    "objective.listed=10",
    "objective.folds=2",
    "training.epochs=1",
]


def test_the_papers_recipes_have_the_papers_numbers() -> None:
    select, rank = load_recipe("nnselect-paper").model_dump(), load_recipe("nnrank-paper").model_dump()
    assert (select["objective"]["objective"], rank["objective"]["objective"]) == ("paper", "paper")
    assert (select["model"]["dimension"], rank["model"]["dimension"]) == (300, 175)
    for recipe in (select, rank):
        negatives = recipe["negatives"]
        assert negatives["random"] + negatives["neighbour"] + negatives["cited_by_cited"] == 6
        assert (negatives["neighbours"], recipe["objective"]["triplets"], recipe["training"]["batch"]) == (
            10,
            500_000,
            256,
        )


def test_the_command_trains_both_and_what_it_writes_can_be_used(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    told = []
    for name, overrides in (("nnselect", SMALL_SELECT), ("nnrank", SMALL_RANK)):
        main(
            [
                "train",
                name,
                "--corpus",
                str(corpus.path),
                "--to",
                str(model),
                "--json",
                "--no-track",
                *overrides,
            ]
        )
        told.append(json.loads(capsys.readouterr().out))
    assert [Path(t["folder"]).name for t in told] == ["nnselect", "nnrank"]
    assert told[0]["metrics"]["R@20"] > told[0]["steps"][0]["R@20"]
    assert told[1]["metrics"]["F1@20"] > 0
    # No checkpoint is left.
    assert sorted(path.name for path in model.iterdir()) == ["nnrank", "nnselect", "paper-words"]
    manifest = verify(model / "nnselect", kind="nnselect")
    assert manifest.meta["recipe"]["model"]["dimension"] == 8
    assert manifest.meta["corpus"] == corpus.version
    encoder = load_encoder(model)
    reranker = load_reranker(model, corpus, History.all(corpus))
    assert (encoder.dimension, reranker.name) == (8, "nnrank")


def test_nnrank_needs_nnselect(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no nnselect.*train nnselect into it first"):
        train(load_recipe("nnrank"), corpus, tmp_path / "model")


def test_a_stopped_training_is_resumed(corpus: Corpus, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(metrics: dict[str, float], step: int) -> None:
        if "R@20" in metrics and step and len(evaluated) == 2:
            raise Stop
        if "R@20" in metrics:
            evaluated.append(step)

    recipe, evaluated = load_recipe("nnselect", [*SMALL_SELECT, "training.epochs=3"]), []
    with pytest.raises(Stop, match=r"^$"):
        train(recipe, corpus, tmp_path / "a", ProgressFunctions(log=stop))
    with pytest.raises(InputError, match=r"unfinished training, up to step .*--resume"):
        train(recipe, corpus, tmp_path / "a")
    steps: list[int] = []
    resume = LaunchOptions(start="resume")
    with open_session(recipe, corpus, tmp_path / "a", resume) as session:
        session.train(ProgressFunctions(log=lambda _, step: steps.append(step)))
    train(recipe, corpus, tmp_path / "b")
    assert load_encoder(tmp_path / "a").id == load_encoder(tmp_path / "b").id
    epoch = evaluated[1]
    assert evaluated == [0, epoch]
    assert {0, epoch, 2 * epoch, 3 * epoch} <= set(steps)


def test_nnrank_is_resumed_on_the_nnselect_it_began_with(corpus: Corpus, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(metrics: dict[str, float], step: int) -> None:
        if "F1@20" in metrics and step > 25:
            raise Stop

    select = load_recipe("nnselect", SMALL_SELECT)
    train(select, corpus, tmp_path)
    recipe = load_recipe(
        "nnrank", [*SMALL_RANK, "training.epochs=8", "training.evaluate_every=10", "objective.folds=0"]
    )
    with pytest.raises(Stop, match=r"^$"):
        train(recipe, corpus, tmp_path, ProgressFunctions(log=stop))
    train(load_recipe("nnselect", [*SMALL_SELECT, "training.seed=9"]), corpus, tmp_path)
    with (
        pytest.raises(InputError, match="another than the one that this training began with .*--fresh"),
        open_session(recipe, corpus, tmp_path, LaunchOptions(start="resume")) as session,
    ):
        session.train(ProgressFunctions())
    train(select, corpus, tmp_path)
    with open_session(recipe, corpus, tmp_path, LaunchOptions(start="resume")) as session:
        assert session.train(ProgressFunctions()).details["steps"] > 25
