from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from cocite.errors import CociteError, InputError
from cocite.manifests import read_manifest
from cocite_jobs.reproduction.papers import plan_of
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.recipe_settings import changed_recipe
from cocite_jobs.reproduction.reproduce import reproduce
from cocite_jobs.reproduction.training_step import run_training


def test_settings_of_other_kinds_change_nothing_and_the_last_wins() -> None:
    settings = [
        "hatten.model.heads=4",
        "hatten=mine.yaml",
        "nnselect.model.dimension=8",
        "hatten.model.heads=2",
    ]
    assert changed_recipe(settings, "hatten", "hatten-paper") == (
        "mine.yaml",
        ["model.heads=4", "model.heads=2"],
    )
    assert changed_recipe(settings, "nnrank", "nnrank-paper") == ("nnrank-paper", [])


@pytest.mark.parametrize(
    ("paper", "setting", "sentence"),
    [
        ("hatten", "words.source=file", r"^--change: hatten at size toy trains no 'words' \(known: .*hatten"),
        ("hatten", "haten.model.heads=3", r"trains no 'haten' \(did you mean 'hatten'"),
        ("hatten", "hatten.words.source", r"^--change: 'hatten\.words\.source' is no setting \(KIND"),
        ("hatten", "=4", r"'=4' is no setting"),
        ("hatten", "hatten.words.sorce=file", r"unknown key 'words\.sorce' .*source"),
        ("hatten", "hatten.training.epochs=-3", r"training\.epochs: input should be greater"),
        ("citeomatic", "nnselect=nnselect-papr", r"no recipe 'nnselect-papr' .*nnselect-paper"),
        (
            "citeomatic",
            "nnselect=nnrank-paper",
            r"^--change: 'nnrank-paper' is a recipe of nnrank, not of nnselect",
        ),
        (
            "citeomatic",
            "nnrank=nnselect-paper",
            r"^--change: 'nnselect-paper' is a recipe of nnselect, not of nnrank",
        ),
        (
            "citeomatic",
            "nnrank.training.seed=3",
            r"^--change: nnrank\.training\.seed cannot be set \(.*--seed",
        ),
        ("hatten", "nnselect.model.finetune=false", "finetune is false without pretrained vectors"),
        ("mp-bert4cr", "mp-bert4cr.positives.cont=2", r"unknown key 'positives\.cont'"),
        ("nogueira", "cross-encoder.objective.top=0", r"objective\.top"),
    ],
)
def test_a_setting_that_fits_no_recipe_is_refused(
    empty_setup: Setup, paper: str, setting: str, sentence: str
) -> None:
    with pytest.raises(CociteError, match=sentence):
        plan_of(paper, replace(empty_setup, settings=(setting,)))


@pytest.mark.parametrize(
    ("paper", "settings"),
    [
        (
            "citeomatic",
            ("nnselect=nnselect-paper-pubmed", "nnrank=nnrank-paper-pubmed"),
        ),
        ("hatten", ("hatten.words.source=file", "hatten.words.path=glove.6B.200d.txt")),
        ("mp-bert4cr", ("mp-bert4cr-pretraining.hiding.share=0.3", "mp-bert4cr.positives.count=2")),
        (
            "hatten",
            (
                "nnselect.model.pretrained=glove.6B.200d.txt",
                "nnselect.model.dimension=200",
                "nnselect.model.finetune=false",
            ),
        ),
        ("nogueira", ("cross-encoder.candidates.years=5",)),
    ],
)
def test_the_recipes_of_the_papers_take_settings(
    empty_setup: Setup, paper: str, settings: tuple[str, ...]
) -> None:
    assert plan_of(paper, replace(empty_setup, size="paper", settings=settings)).trainings


def test_a_training_follows_its_settings_and_the_folder_keeps_them(
    empty_setup: Setup, tmp_path: Path
) -> None:
    settings = (
        "nnselect=nnselect-paper-pubmed",
        "nnselect.model.dimension=6",
        "nnselect.objective.triplets=64",
    )
    setup = replace(empty_setup, settings=settings)
    [training, *_] = plan_of("citeomatic", setup).trainings
    run_training(training, setup, None)
    recipe = read_manifest(setup.folder / "model/nnselect").meta["recipe"]
    assert (recipe["model"]["dimension"], recipe["objective"]["triplets"]) == (6, 64)
    assert recipe["objective"]["word_dropout"] == 0.55, "PubMed's"
    kept = replace(setup, folder=tmp_path / "kept")
    assert reproduce("citeomatic", kept, only=["table1"]).contents.json()["settings"] == ", ".join(settings)
    assert reproduce("citeomatic", kept, only=["table1"]).made == []
    with pytest.raises(InputError, match="holds a reproduction whose settings is"):
        reproduce("citeomatic", replace(kept, settings=()), only=["table1"])


def test_variants_keep_what_tells_them_apart(empty_setup: Setup) -> None:
    settings = ("cross-encoder.objective.balanced=true", "cross-encoder.pairs.query_tokens=30")
    plan = plan_of("nogueira", replace(empty_setup, settings=settings))
    read = {
        training.name: (recipe.objective.balanced, recipe.objective.missed, recipe.pairs.query_tokens)
        for training in plan.trainings
        if training.kind == "cross-encoder" and training.load is not None
        for recipe in [cast("Any", training.load(replace(empty_setup, settings=settings)))]
    }
    assert read == {
        "reranker": (True, True, 30),
        "reranker, balanced with cited papers that BM25 missed": (True, True, 30),
        "reranker, balanced": (True, False, 30),
        "reranker, with candidates drawn at random": (False, True, 30),
        "reranker of 20 + 60 tokens": (True, True, 20),
        "reranker of 60 + 20 tokens": (True, True, 60),
    }
