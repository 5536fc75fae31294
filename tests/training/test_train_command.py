from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.artifacts import verify
from cocite.cli import main
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, InputError, NotFoundError
from cocite.systems.citeomatic.artifacts import load_encoder, load_reranker
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe, shipped_recipes
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.train import train

SMALL_SELECT = ["model.dimension=8", "objective.batch=256", "loop.epochs=2", "loop.learning_rate=0.02"]
SMALL_RANK = [
    "model.dimension=8",
    "objective.batch=64",
    "objective.listed=10",
    "objective.folds=2",
    "loop.epochs=1",
]


def test_every_shipped_recipe_fits_its_type() -> None:
    assert {"nnselect", "nnselect-paper", "nnrank", "nnrank-paper", "nnrank-metadata"} <= set(
        shipped_recipes()
    )
    for name in shipped_recipes():
        try:
            recipe = load_recipe(name)
        except ConfigError as error:  # a recipe of a job that is no training
            assert "cannot be trained" in str(error)  # noqa: PT017
            continue
        assert recipe.model_dump()["kind"] in KINDS


def test_the_papers_recipes_have_the_papers_numbers() -> None:
    select, rank = load_recipe("nnselect-paper").model_dump(), load_recipe("nnrank-paper").model_dump()
    assert (select["objective"]["objective"], rank["objective"]["objective"]) == ("paper", "paper")
    assert (select["model"]["dimension"], rank["model"]["dimension"]) == (300, 175)
    for recipe in (select, rank):
        negatives = recipe["negatives"]
        assert negatives["random"] + negatives["neighbour"] + negatives["cited_by_cited"] == 6
        assert (negatives["neighbours"], recipe["objective"]["triplets"], recipe["objective"]["batch"]) == (
            10,
            500_000,
            256,
        )


def test_mistakes_in_a_recipe_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no recipe 'nnselct' .*did you mean 'nnselect'"):
        load_recipe("nnselct")
    with pytest.raises(ConfigError, match=r"unknown key 'loop\.epoch' .*epochs"):
        load_recipe("nnselect", ["loop.epoch=3"])
    (tmp_path / "r.yaml").write_text("kind: nnselet\n")
    with pytest.raises(ConfigError, match=r"kind: 'nnselet' cannot be trained .*did you mean 'nnselect'"):
        load_recipe(str(tmp_path / "r.yaml"))


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
    assert told[0]["metrics"]["R@20"] > told[0]["epochs"][0]["R@20"]
    assert told[1]["metrics"]["F1@20"] > 0
    assert sorted(path.name for path in model.iterdir()) == ["nnrank", "nnselect"]  # no checkpoint is left
    manifest = verify(model / "nnselect", kind="nnselect")
    assert manifest.meta["recipe"]["model"]["dimension"] == 8
    assert manifest.meta["corpus"] == corpus.version
    encoder = load_encoder(model)
    reranker = load_reranker(model, corpus, History.all(corpus))
    assert (encoder.dimension, reranker.name) == (8, "nnrank")


def test_nnrank_needs_nnselect(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no nnselect.*train nnselect into it first"):
        train(load_recipe("nnrank"), corpus, tmp_path / "model")


def test_a_stopped_training_is_taken_up_again(corpus: Corpus, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(metrics: dict[str, float], step: int) -> None:
        if step == 2:
            raise Stop

    recipe = load_recipe("nnselect", [*SMALL_SELECT, "loop.epochs=3"])
    with pytest.raises(Stop):
        train(recipe, corpus, tmp_path / "a", ProgressFunctions(log=stop))
    epochs: list[int] = []
    train(recipe, corpus, tmp_path / "a", ProgressFunctions(log=lambda _, step: epochs.append(step)))
    assert epochs == [2, 3]
    train(recipe, corpus, tmp_path / "b")
    assert load_encoder(tmp_path / "a").id == load_encoder(tmp_path / "b").id
